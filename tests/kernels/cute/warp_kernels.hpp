#pragma once
/// @file
/// Small kernels that show layouts: the wrappers of kernels/engine/ptx.cuh and the index functions of the
/// kernels, run by the executor. Each function returns when its kernel has ended.

#include <cstdint>
#include <vector>

#include "lane_map.hpp"

namespace ringcraft::layouts {

/// A product of one warp: c = A B, as each lane holds them. Value v of a lane lies in half v % 2 of its
/// register v / 2.
struct Product {
  float a[32][8] = {}, b[32][4] = {};
  float c[32][4] = {};
};
/// Computes c of each of them.
void multiply(Format format, std::vector<Product>& products);

/// ldmatrix: lane l names row row_of_lane[l], of 8 numbers, of `rows`. Returns the numbers of each lane, in
/// the order of its registers: [32, 8] or [32, 4].
std::vector<std::uint16_t> load(Load load, const std::vector<std::uint16_t>& rows,
                                const std::vector<int>& row_of_lane);

/// cp.async: copies 16 bytes of each lane, or zeros where not valid: [32, 16]. The lanes' places in shared
/// memory are in another order than in global memory.
std::vector<std::uint8_t> copy(const std::vector<std::uint8_t>& from, bool valid);

/// tile_row and tile_column of engine/warp_tiles.cuh, for each thread of a thread block and element 2 i + c
/// of so many accumulators j: [threads, 4 j + 2 i + c].
LaneMap accumulator_places(int accumulators);

/// The places that SwizzledTile of engine/warp_tiles.cuh gives to the numbers of so many rows of `head_dim`,
/// 64 or 128: to those at multiples of 8; -1 for the others.
std::vector<int> swizzled_places(int head_dim, int rows);
/// The same of the tile of rung 05 forward, which has a plain one of its own.
std::vector<int> pipeline_places(int head_dim, int rows);

}  // namespace ringcraft::layouts
