#pragma once
/// @file
/// NVIDIA's layouts: those that CuTe's headers give to the instructions of kernels/engine/ptx.cuh, evaluated
/// on the CPU.

#include <vector>

#include "lane_map.hpp"

namespace ringcraft::layouts::cutes {

/// An operand of mma.m16n8k16 with sums in float32: the row and column of each value.
LaneMap fragment(Format format, Operand operand);

/// ldmatrix: the lane whose row each 16-bit number comes from, and which of the row's eight it is.
LaneMap matrix_load(Load load);

/// cp.async of 16 bytes, of each lane: the lane whose bytes arrive, and which of them.
LaneMap async_copy();

/// Swizzle<bits, base, shift>.
struct SwizzleBits {
  int bits, base, shift;
  bool operator==(const SwizzleBits&) const = default;
};
/// All of them that move element i of a row-major tile to moved[i], for each i that is a multiple of 8. Tries
/// those with up to 4 bits, a base up to 5 and a shift up to 6.
std::vector<SwizzleBits> swizzles_that_give(const std::vector<int>& moved);
/// The number of those that swizzles_that_give() tries.
int swizzles_tried();

}  // namespace ringcraft::layouts::cutes
