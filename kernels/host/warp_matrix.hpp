#pragma once
/// @file
/// ldmatrix and mma on the CPU: each lane of a warp passes its registers, and the last lane to arrive does
/// the work of all. The layouts are those of kernels/engine/ptx.cuh; tests/kernels/cute compares them with
/// CuTe's.

#include <cstdint>

#include "host/executor.hpp"

namespace ringcraft::simt {

/// Whether a lane gets neighbours of a row or of a column.
enum class Order : std::uint8_t { kRows, kColumns };

/// Arguments of one lane to ldmatrix.
struct MatrixLoad {
  const void* row;      ///< of 8 numbers of 16 bits, in shared memory
  unsigned* registers;  ///< [matrices]
  int matrices;         ///< 2 or 4
  Order order;
  Site site;  ///< where it is called
};

/// Arguments of one lane to mma.
struct MatrixProduct {
  const unsigned* a;                ///< [4]
  const unsigned* b;                ///< [2]
  float* c;                         ///< [4], added to
  float (*widened)(std::uint16_t);  ///< the value of an element's bits
  Site site = {};                   ///< multiply_matrices fills it in
};

/// With all lanes of the warp. Throws Error, with the place of every waiting lane, if not all of them arrive.
void load_matrices(MatrixLoad mine);
/// The same.
void multiply_matrices(MatrixProduct mine, Site site);

/// The work of the last lane to arrive: one entry per lane.
void load_together(MatrixLoad* const (&lanes)[32]);
/// The same.
void multiply_together(MatrixProduct* const (&lanes)[32]);

}  // namespace ringcraft::simt
