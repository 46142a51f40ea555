#pragma once
/// @file
/// Expected results of the kernels of ptx_kernels.hpp, on a GPU and on the CPU alike.

#include <cstddef>

#include "ptx_kernels.hpp"

namespace ringcraft::kernels {

/// The result of a check.
struct Found {
  std::size_t numbers = 0;  ///< looked at
  std::size_t wrong = 0;    ///< of them
  double worst = 0;         ///< largest error, of the scale that the check names
};

/// Random products against double. Scale: the sum of |a b|; wrong above 4e-6 of it (tensor cores cut off
/// where the CPU rounds).
Found check_products(Format format, Fragments fragments, int products);
/// Conversions against a search for the nearest number, ties to even: every number of the type, every
/// halfway point, the float32 beside each, and random ones. Right means the same bits.
Found check_conversions(Format format);
/// exp2_fast() against double, from -140 to 127 and at -inf. Scale: the result; wrong above 4e-7 of it.
Found check_exponentials();
/// Asynchronous copies with each of their waits. Wrong: a number that is not the one of its place, or 0 from
/// `valid` on.
Found check_copies(Waiting waiting, int valid);

}  // namespace ringcraft::kernels
