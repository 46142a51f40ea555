#pragma once
/// @file
/// The multiply-add peak of a device, an upper bound for every kernel.

#include "engine/device_memory.hpp"

namespace ringcraft::kernels {

/// Operations per second, a multiply-add being two, at the highest clock that the device may take: of tensor
/// cores for bfloat16 with sums in float32, of the other ones for float32. 0 for a compute capability that is
/// not known here.
double peak_rate(const Device& device, DType type);

}  // namespace ringcraft::kernels
