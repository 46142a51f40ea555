#pragma once
/// @file
/// The exponential of a row of scores, a register at a time (lesson 108): a power of two, made from bits,
/// times a polynomial. After the products it is the largest part of attention.

#include <span>

#include "ringcraft/core/types.hpp"

namespace ringcraft {

/// x = exp(x - shift) in place; returns the sum. x - shift is at most 88 (float) or 709 (double); that of a
/// weight is at most about 0. Within 2.5 (float) or 1.5 (double) units in the last place, and exactly 1 at x
/// = shift. Below -87.33 (float) or -708.39 (double), where exp is no normal number any more, exactly 0: -inf
/// has weight 0. NaN stays NaN. The result depends on the numbers alone, not on where they lie in memory.
template <class T>
T fast_exponentials(std::span<T> x, T shift);

}  // namespace ringcraft
