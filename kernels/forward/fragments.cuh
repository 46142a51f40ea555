#pragma once
/// @file
/// Shared by the forward rungs on tensor cores: a warp's 16 query rows as fragments in registers. Scores,
/// weights and O never leave them (engine/warp_tiles.cuh); a tile has as many keys as rows, or as a rung
/// says. Sums are float32.

#include <cmath>
#include <cstddef>

#include "engine/warp_tiles.cuh"
#include "forward/forward.hpp"

namespace ringcraft::kernels {

/// Over the four lanes of a row.
__device__ inline float quad_max(float x) {
  for (int lanes = 2; lanes > 0; lanes /= 2) x = fmaxf(x, __shfl_xor_sync(0xffffffffu, x, lanes));
  return x;
}
/// The same.
__device__ inline float quad_sum(float x) {
  for (int lanes = 2; lanes > 0; lanes /= 2) x += __shfl_xor_sync(0xffffffffu, x, lanes);
  return x;
}

/// The part of the problem that a thread block computes: a tile of query rows of one head. Grid: (tiles of
/// rows, heads, batch).
struct QueryTile {
  int row0, rows;                       ///< its first row in the head, and how many it has: 1 to kTile
  std::ptrdiff_t first_row, first_key;  ///< among the rows of all heads, and the keys of all KV heads
  int begin_first, begin_last;          ///< of the first and the last row. They never decrease, so that
  int end_first, end_last;              ///< these two decide for all rows (see KeyRanges::tile).

  __device__ explicit QueryTile(const ForwardStep& step)
      : row0(int(blockIdx.x) * kTile),
        rows(min(kTile, step.rows - row0)),
        first_row((std::ptrdiff_t{blockIdx.z} * step.heads + blockIdx.y) * step.rows + row0),
        first_key(
            (std::ptrdiff_t{blockIdx.z} * step.kv_heads + int(blockIdx.y) / (step.heads / step.kv_heads)) *
            step.keys),
        begin_first(step.begin_gmem[row0]),
        begin_last(step.begin_gmem[row0 + rows - 1]),
        end_first(step.end_gmem[row0]),
        end_last(step.end_gmem[row0 + rows - 1]) {}

  /// Keys outside of [first_visible(), end_last) are seen by no row; it begins with a tile of so many keys.
  __device__ int first_visible(int keys = kTile) const { return begin_first / keys * keys; }
  /// Whether any row sees a key.
  __device__ bool sees_keys() const { return begin_first < end_last; }
  /// Whether every row sees every key of this tile of keys. One that extends past the last key is never full:
  /// end <= keys.
  __device__ bool full(int key0, int keys = kTile) const {
    return begin_last <= key0 && key0 + keys <= end_first;
  }
};

/// The keys [begin, end) that each row of a lane sees. A row that is not there sees none.
struct Visible {
  int begin_reg[kLaneRows], end_reg[kLaneRows];

  __device__ Visible(const ForwardStep& step, const QueryTile& tile) {
#pragma unroll
    for (int i = 0; i < kLaneRows; ++i) {
      const bool exists = tile_row(i) < tile.rows;
      begin_reg[i] = exists ? step.begin_gmem[tile.row0 + tile_row(i)] : 0;
      end_reg[i] = exists ? step.end_gmem[tile.row0 + tile_row(i)] : 0;
    }
  }

  /// Whether these rows may see a key of this tile of keys; where it says no, none does.
  __device__ bool meets(int key0, int keys = kTile) const {
    bool any = false;
#pragma unroll
    for (int i = 0; i < kLaneRows; ++i) any = any || (begin_reg[i] < key0 + keys && key0 < end_reg[i]);
    return any;
  }
};

/// S, and then P, of a warp and a tile of kKeys keys. Element 2 i + c of accumulator j is the score of row i
/// of this lane and the key 8 j + 2 (lane % 4) + c of the tile.
template <int kKeys>
using TileScores = float[kKeys / 8][4];
/// The same of a tile with as many keys as rows.
using Scores = TileScores<kTile>;

/// The partial result of a warp's rows for one KV block. All four lanes of a row have the same m; each has a
/// share of l. Element 2 i + c of accumulator j of O: row i, column 8 j + 2 (lane % 4) + c.
template <int kHeadDim>
struct Partial {
  float out_reg[kHeadDim / 8][4] = {};
  float max_reg[kLaneRows] = {-INFINITY, -INFINITY};  ///< in units of log2: a weight is exp2(score - m)
  float sum_reg[kLaneRows] = {};
};

/// Gives -inf, whose weight is exactly 0, to the keys of the tile that a row does not see.
template <int kAccumulators>
__device__ void mask(float (&score_reg)[kAccumulators][4], const Visible& visible, int key0) {
#pragma unroll
  for (int j = 0; j < kAccumulators; ++j)
#pragma unroll
    for (int element = 0; element < 4; ++element) {
      const int i = element / 2, key = key0 + tile_column(j, element % 2);
      if (key < visible.begin_reg[i] || key >= visible.end_reg[i]) score_reg[j][element] = -INFINITY;
    }
}

/// The shift that is subtracted from the exponents of a row with maximum m: m, but 0 while the row has seen
/// no key, since -inf - (-inf) is NaN; 2^(-inf - 0) = 0 is the weight that such a row needs.
__device__ inline float subtrahend(float max) { return max == -INFINITY ? 0.0f : max; }

/// Online softmax: m' = max(m, S), c = exp2(m - m'), P = exp2(S - m'), l' = c l + sum P, O' = c O (P V
/// follows). The scores become the weights.
template <int kHeadDim, int kAccumulators>
__device__ void softmax(Partial<kHeadDim>& partial, float (&score_reg)[kAccumulators][4]) {
#pragma unroll
  for (int i = 0; i < kLaneRows; ++i) {
    float largest = partial.max_reg[i];
#pragma unroll
    for (auto& s : score_reg) largest = fmaxf(largest, fmaxf(s[2 * i], s[2 * i + 1]));
    largest = quad_max(largest);

    const float shift = subtrahend(largest), rescale = exp2_fast(partial.max_reg[i] - shift);
    float sum = 0;
#pragma unroll
    for (auto& s : score_reg)
#pragma unroll
      for (int c = 0; c < 2; ++c) sum += s[2 * i + c] = exp2_fast(s[2 * i + c] - shift);
    partial.max_reg[i] = largest;
    partial.sum_reg[i] = rescale * partial.sum_reg[i] + sum;
#pragma unroll
    for (auto& out_reg : partial.out_reg)
#pragma unroll
      for (int c = 0; c < 2; ++c) out_reg[2 * i + c] *= rescale;
  }
}

/// Merges the partial into (O, m, l) in global memory. With m = max(m_a, m_b): O = exp(m_a - m) O_a +
/// exp(m_b - m) O_b, l likewise. A row that saw no key keeps its bits.
template <int kHeadDim>
__device__ void merge_into(const ForwardStep& step, const QueryTile& tile, const Partial<kHeadDim>& partial) {
  constexpr float kLn2 = 0.69314718f;
#pragma unroll
  for (int i = 0; i < kLaneRows; ++i) {
    // All lanes of a warp take part in shuffles and barriers, also where some of its rows do not exist.
    const bool exists = tile_row(i) < tile.rows;
    const std::ptrdiff_t row = tile.first_row + tile_row(i);
    const float block_max = kLn2 * partial.max_reg[i], block_sum = quad_sum(partial.sum_reg[i]);
    const float old_max = exists ? step.max_gmem[row] : -INFINITY, old_sum = exists ? step.sum_gmem[row] : 0;
    __syncwarp();  // m and l are written below, by one lane, when all four have read them
    if (!exists || block_max == -INFINITY) continue;

    const float largest = fmaxf(old_max, block_max), shift = subtrahend(largest);
    const float weight = expf(old_max - shift), block_weight = expf(block_max - shift);
    float* const out_gmem = step.out_gmem + row * step.head_dim;
#pragma unroll
    for (int j = 0; j < kHeadDim / 8; ++j)
#pragma unroll
      for (int c = 0; c < 2; ++c) {
        const int d = tile_column(j, c);
        if (d < step.head_dim)
          out_gmem[d] = fmaf(block_weight, partial.out_reg[j][2 * i + c], weight * out_gmem[d]);
      }
    if (lane() % 4 == 0) {
      step.max_gmem[row] = largest;
      step.sum_gmem[row] = weight * old_sum + block_weight * block_sum;
    }
  }
}

}  // namespace ringcraft::kernels
