#pragma once
/// @file
/// How a thread block that owns keys walks over the query rows that see them: a tile a turn, the heads of the
/// group one after the other. While one turn is computed on, the rows of the next one arrive.

#include "backward/weights.cuh"

namespace ringcraft::kernels {

/// Grid: (tiles of keys, kv_heads, batch).
template <int kHeadDim, int kOther>
struct RowWalk {
  using Tile = SwizzledTile<kHeadDim>;

  const BackwardStep& step;
  Access access;
  SharedTiles<kHeadDim, kOther> tiles;
  OwnRows<kOther> own;
  Index kv_head;  ///< counted over the batch
  int group,
      turns_of_a_head;  ///< query heads of the KV head, and tiles of rows of each: 0 if none sees a key

  __device__ RowWalk(const BackwardStep& a_step, Access an_access, Bf16* smem)
      : step(a_step),
        access(an_access),
        tiles{smem},
        own(step.row_begin_gmem, step.row_end_gmem, step.keys),
        kv_head(Index{blockIdx.z} * step.kv_heads + blockIdx.y),
        group(step.heads / step.kv_heads),
        turns_of_a_head(own.tiles()) {}

  __device__ int turns() const { return group * turns_of_a_head; }
  /// The first row of a turn, in its head and among the rows of all heads.
  __device__ int row0(int turn) const { return own.first() + turn % turns_of_a_head * kOther; }
  __device__ Index first_row(int turn) const {  ///< see above
    return (kv_head * group + turn / turns_of_a_head) * step.rows + row0(turn);
  }
  /// The first own key, among the keys of all KV heads.
  __device__ Index first_key() const { return kv_head * step.keys + own.row0; }

  __device__ Tile k() const { return tiles.own(0); }
  __device__ Tile v() const { return tiles.own(1); }
  __device__ Tile q(int turn) const { return tiles.other(turn % 2, 0); }
  __device__ Tile dout(int turn) const { return tiles.other(turn % 2, 1); }

  /// Starts to copy the own keys, and then the rows of turn 0.
  __device__ void start() const {
    start_rows<kTile>(k(), step.k_gmem, first_key(), own.rows, step.head_dim, access);
    start_rows<kTile>(v(), step.v_gmem, first_key(), own.rows, step.head_dim, access);
    start(0);
  }
  /// Starts to copy the rows of a turn, if there is such a turn.
  __device__ void start(int turn) const {
    if (turn >= turns()) return;
    const int rows = step.rows - row0(turn);
    start_rows<kOther>(q(turn), step.q_gmem, first_row(turn), rows, step.head_dim, access);
    start_rows<kOther>(dout(turn), step.dout_gmem, first_row(turn), rows, step.head_dim, access);
    cp_async_commit();
  }

  /// Pᵀ and dSᵀ of the own keys and the rows of a turn.
  __device__ void weights(int turn, Weights<kOther>& p_reg, Weights<kOther>& ds_reg) const {
    multiply_transposed<kHeadDim, kUnroll>(k(), q(turn), p_reg);
    multiply_transposed<kHeadDim, kUnroll>(v(), dout(turn), ds_reg);
    const int first = row0(turn);
    const Index first_of_all = first_row(turn);
    become_weights(p_reg, ds_reg, step.softmax_scale, own, first, [&](int, int column) {
      return first + column < step.rows ? RowNumbers(step, first_of_all + column) : RowNumbers();
    });
  }

  /// Adds the gradients of the own keys, whose dS has still to be scaled.
  __device__ void add(const Gradient<kHeadDim>& dk_reg, const Gradient<kHeadDim>& dv_reg) const {
    const Index first = first_key() * step.head_dim;
    add_to<kHeadDim>(step.dk_gmem + first, dk_reg, step.softmax_scale, own.rows, step.head_dim);
    add_to<kHeadDim>(step.dv_gmem + first, dv_reg, 1.0f, own.rows, step.head_dim);
  }
};

}  // namespace ringcraft::kernels
