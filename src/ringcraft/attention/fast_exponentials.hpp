#pragma once
/// @file
/// The exponential of a row of scores, a register at a time (lesson 108): a power of two, made from bits,
/// times a polynomial. After the products it is the largest part of attention.

#include <span>

#include "ringcraft/core/types.hpp"

namespace ringcraft {

/// x = exp(x - shift) in place; returns the sum. Within 1 (float) and 1 (double) units in the last place and
/// a half; exactly 1 at x = shift. Below -87.33 (float) or -708.39 (double), where exp is no normal number
/// any more, exactly 0, so -inf has weight 0. Above 88 or 709 infinite; NaN stays NaN. The result depends on
/// the numbers alone, not on where they lie in memory.
template <class T>
T fast_exponentials(std::span<T> x, T shift);

}  // namespace ringcraft
