#pragma once
/// @file
/// Shared parts of the backward rungs on tensor cores. A thread block has 64 own rows, of queries or of keys,
/// and walks over tiles of other ones; P and dS of own rows are fragments in registers, from the products
/// that make them to those that use them (engine/warp_tiles.cuh). Where keys are the own rows it is Sᵀ = k qᵀ
/// that is computed: Pᵀ and dSᵀ are then what dv = Pᵀ dout and dk = dSᵀ q need, and nothing is ever
/// transposed.

#include "backward/backward.hpp"
#include "engine/warp_tiles.cuh"

namespace ringcraft::kernels {

/// The products of own and other rows leave the registers to the gradients.
inline constexpr int kUnroll = 2;

/// S and then P, or dP and then dS, of a warp's own rows and a tile of kOther other ones.
template <int kOther>
using Weights = float[kOther / 8][4];
/// A gradient of a warp's own rows.
template <int kHeadDim>
using Gradient = float[kHeadDim / 8][4];

/// Shared memory of a thread block: two tiles of own rows (k and v, say), and of other ones two in use and
/// two that arrive.
template <int kHeadDim, int kOther>
struct SharedTiles {
  using Tile = SwizzledTile<kHeadDim>;
  static constexpr int kNumbers = (2 * kTile + 4 * kOther) * kHeadDim;

  Bf16* smem;

  __device__ Tile own(int which) const { return {smem + which * kTile * kHeadDim}; }
  __device__ Tile other(int stage, int which) const {
    return {smem + (2 * kTile + (2 * stage + which) * kOther) * kHeadDim};
  }
};

/// Starts to copy rows of q, k, v or dout into a tile of kRows, from this row of all heads on.
template <int kRows, int kHeadDim>
__device__ void start_rows(SwizzledTile<kHeadDim> to, const void* gmem, Index first_row, int rows,
                           int head_dim, Access access) {
  start_copy<kRows>(to, static_cast<const Bf16*>(gmem) + first_row * head_dim, rows, head_dim, access);
}

/// The own rows of a thread block, and which of the other ones each row of a lane meets: KeyRanges, or their
/// transpose. Both ends never decrease from row to row, so that the first and the last row decide for all.
template <int kOther>
struct OwnRows {
  int row0, rows;                                ///< the first one, and how many there are: 1 to kTile
  int begin_first, begin_last;                   ///< of the first and the last row,
  int end_first, end_last;                       ///< see above
  int begin_reg[kLaneRows], end_reg[kLaneRows];  ///< of this lane's; a row that is not there meets none

  __device__ OwnRows(const int* begin_gmem, const int* end_gmem, int all_rows)
      : row0(int(blockIdx.x) * kTile),
        rows(min(kTile, all_rows - row0)),
        begin_first(begin_gmem[row0]),
        begin_last(begin_gmem[row0 + rows - 1]),
        end_first(end_gmem[row0]),
        end_last(end_gmem[row0 + rows - 1]) {
#pragma unroll
    for (int i = 0; i < kLaneRows; ++i) {
      const bool exists = tile_row(i) < rows;
      begin_reg[i] = exists ? begin_gmem[row0 + tile_row(i)] : 0;
      end_reg[i] = exists ? end_gmem[row0 + tile_row(i)] : 0;
    }
  }

  /// Other rows outside of [first(), end_last) are met by none; it begins with a tile.
  __device__ int first() const { return begin_first / kOther * kOther; }
  /// How many tiles of other rows that are: 0 if no row meets any.
  __device__ int tiles() const {
    return begin_first < end_last ? (end_last - first() + kOther - 1) / kOther : 0;
  }
  /// Whether all kTile rows meet all rows of this tile of other ones.
  __device__ bool full(int other0) const {
    return rows == kTile && begin_last <= other0 && other0 + kOther <= end_first;
  }
  __device__ bool meets(int i, int other) const { return begin_reg[i] <= other && other < end_reg[i]; }
};

/// Inputs of a query row's weights: its lse, in units of log2, and its delta.
struct RowNumbers {
  float lse_log2 = 0, delta = 0;

  RowNumbers() = default;
  __device__ RowNumbers(const BackwardStep& step, Index row_of_all)
      : lse_log2(kLog2E * step.lse_gmem[row_of_all]), delta(step.delta_gmem[row_of_all]) {}
};

/// P = exp(S - lse), dS = P * (dP - delta): S and dP become them. Where the tile is not full, a pair that
/// does not meet gets 0 because of its place: exp may be infinite there, and lse -inf. of_pair(i, column)
/// gives the RowNumbers of own row i and that row of the tile of other ones, whichever of the two is the
/// query.
template <int kOther, class OfPair>
__device__ void become_weights(Weights<kOther>& p_reg, Weights<kOther>& ds_reg, float softmax_scale,
                               const OwnRows<kOther>& own, int other0, OfPair of_pair) {
  const float scale = kLog2E * softmax_scale;
  const bool full = own.full(other0);
#pragma unroll
  for (int j = 0; j < kOther / 8; ++j)
#pragma unroll
    for (int c = 0; c < 2; ++c)
#pragma unroll
      for (int i = 0; i < kLaneRows; ++i) {
        const int column = tile_column(j, c);
        const RowNumbers row = of_pair(i, column);
        float &p = p_reg[j][2 * i + c], &ds = ds_reg[j][2 * i + c];
        const bool meets = full || own.meets(i, other0 + column);
        p = meets ? exp2_fast(fmaf(scale, p, -row.lse_log2)) : 0.0f;
        ds = meets ? p * (ds - row.delta) : 0.0f;
      }
}

/// Adds factor * gradient to the own rows in global memory.
template <int kHeadDim>
__device__ void add_to(float* gmem, const Gradient<kHeadDim>& gradient_reg, float factor, int rows,
                       int head_dim) {
#pragma unroll
  for (int i = 0; i < kLaneRows; ++i) {
    if (tile_row(i) >= rows) continue;
    float* const row_gmem = gmem + tile_row(i) * head_dim;
#pragma unroll
    for (int j = 0; j < kHeadDim / 8; ++j)
#pragma unroll
      for (int c = 0; c < 2; ++c) {
        const int d = tile_column(j, c);
        if (d < head_dim) row_gmem[d] = fmaf(factor, gradient_reg[j][2 * i + c], row_gmem[d]);
      }
  }
}

}  // namespace ringcraft::kernels
