#pragma once
/// @file
/// Shared by the rungs on tensor cores, forward and backward: tiles of bf16 in shared memory, and what a warp
/// multiplies out of them. A thread block has 64 own rows, 16 to a warp. A product with other rows is an
/// accumulator C in registers, float32, and the next product takes it, rounded to bf16, as its operand A:
/// scores and weights of the own rows never leave the registers (who holds what: engine/ptx.cuh).

#include <cstddef>

#include "engine/ptx.cuh"
#include "engine/vector4.cuh"

namespace ringcraft::kernels {

/// Own rows of a thread block.
inline constexpr int kTile = 64;
/// A warp for every 16 rows. Of its 16 rows a lane has two, g and g + 8 with g = lane / 4; the four lanes of
/// a row are neighbours, a quad.
inline constexpr int kThreads = kTile / 16 * 32;
/// The rows of a lane.
inline constexpr int kLaneRows = 2;
/// exp(x) = exp2(log2(e) x): the factor joins the scale of the scores.
inline constexpr float kLog2E = 1.44269504f;

__device__ inline int lane() { return int(threadIdx.x) % 32; }
/// The first row of this warp, counted within the tile.
__device__ inline int warp_row() { return int(threadIdx.x) / 32 * 16; }
/// Row i (of kLaneRows) of this lane, counted within the tile. It holds element 2 i + c of an accumulator.
__device__ inline int tile_row(int i) { return warp_row() + lane() / 4 + 8 * i; }
/// The column of element 2 i + c of accumulator j of this lane.
__device__ inline int tile_column(int j, int c) { return 8 * j + 2 * (lane() % 4) + c; }

// ---- Tiles. Rung 05 forward writes tile and copy in plain form (Tile, start_rows), which are the easier
// ones to read.

/// Rows of kHeadDim numbers, 64 or 128, in pieces of 16 bytes. Eight pieces fill the 32 banks once, and so
/// each row of 128 or 256 bytes begins in bank 0. The pieces of a row therefore change places: piece p of row
/// r lies where p xor r % 8 would. Eight neighbouring rows have any one piece in eight different places, as
/// ldmatrix wants it, and eight neighbouring pieces of a row still fill the banks once, as the copies want
/// it.
template <int kHeadDim>
struct SwizzledTile {
  Bf16* smem;
  /// Where the 16 bytes from this column on lie.
  __device__ Bf16* at(int row, int column) const {
    return smem + row * kHeadDim + ((column / 8) ^ (row % 8)) * 8;
  }
};

/// Starts to copy `rows` rows of head_dim numbers into a tile of kRows; what is missing is 0, which adds
/// nothing to a product. Rows that cp.async cannot copy are copied at once.
template <int kRows, int kHeadDim>
__device__ void start_copy(SwizzledTile<kHeadDim> tile, const Bf16* gmem, int rows, int head_dim,
                           Access access) {
  constexpr int kPieces = kHeadDim / 8;  // neighbouring lanes copy neighbouring pieces of a row
  const int column = int(threadIdx.x) % kPieces * 8;
#pragma unroll 4
  for (int row = int(threadIdx.x) / kPieces; row < kRows; row += kThreads / kPieces) {
    const Bf16* const from = gmem + row * head_dim + column;
    Bf16* const to = tile.at(row, column);
    if (access == Access::kVector)
      cp_async_16(to, from, row < rows && column < head_dim);
    else
      for (int c = 0; c < 8; ++c) to[c] = row < rows && column + c < head_dim ? from[c] : Bf16{0};
  }
}

// ---- Products. A tile has at(row, column): where the 16 bytes from there on lie. Rung 04 forward writes its
// two in plain form (multiply_q_k, multiply_p_v), which are the easier ones to read.

/// sum += own otherᵀ, of this warp's own rows and of 8 kAccumulators other ones. A row of the other tile in
/// memory is a column of its transpose: it is loaded as it lies. The own rows are read again for every tile
/// of other ones, for their place in registers would be that of half of an output. kUnroll: how many steps
/// of 16 columns the compiler may mix; fewer leave more registers to the caller.
template <int kHeadDim, int kUnroll = kHeadDim / 16, class Own, class Other, int kAccumulators>
__device__ void multiply_transposed(Own own, Other other, float (&sum_reg)[kAccumulators][4]) {
#pragma unroll kUnroll
  for (int d = 0; d < kHeadDim / 16; ++d) {
    unsigned own_reg[4];
    ldmatrix_x4(own_reg, own.at(warp_row() + lane() % 16, 16 * d + lane() / 16 * 8));
#pragma unroll
    for (int j = 0; j < kAccumulators / 2; ++j) {
      unsigned other_reg[4];  // of the rows 16 j to 16 j + 7, then of the next eight
      ldmatrix_x4(other_reg, other.at(16 * j + lane() % 8 + lane() / 16 * 8, 16 * d + lane() / 8 % 2 * 8));
      mma_16x8x16<Bf16>(sum_reg[2 * j], own_reg, other_reg[0], other_reg[1]);
      mma_16x8x16<Bf16>(sum_reg[2 * j + 1], own_reg, other_reg[2], other_reg[3]);
    }
  }
}

/// sum += a other, where `a` is 16 rows by 16 other rows, and `other` is read from row `row0` and column
/// `column0` on, 8 kAccumulators columns. They lie row by row, as an operand B is indexed, and are transposed
/// on their way.
template <class Tile, int kAccumulators>
__device__ void multiply_16(const unsigned (&a_reg)[4], Tile other, int row0, int column0,
                            float (&sum_reg)[kAccumulators][4]) {
#pragma unroll
  for (int d = 0; d < kAccumulators / 2; ++d) {
    unsigned other_reg[4];  // of the columns 16 d to 16 d + 7, then of the next eight
    ldmatrix_x4_trans(other_reg, other.at(row0 + lane() % 16, column0 + 16 * d + lane() / 16 * 8));
    mma_16x8x16<Bf16>(sum_reg[2 * d], a_reg, other_reg[0], other_reg[1]);
    mma_16x8x16<Bf16>(sum_reg[2 * d + 1], a_reg, other_reg[2], other_reg[3]);
  }
}

/// sum += weights other, of this warp's own rows. Two accumulators, rounded, are the operand A for 16 other
/// rows.
template <class Tile, int kOthers, int kAccumulators>
__device__ void multiply(const float (&weight_reg)[kOthers][4], Tile other,
                         float (&sum_reg)[kAccumulators][4]) {
#pragma unroll
  for (int j = 0; j < kOthers / 2; ++j) {
    const auto &low = weight_reg[2 * j], &high = weight_reg[2 * j + 1];
    const unsigned a_reg[4] = {packed<Bf16>(low[0], low[1]), packed<Bf16>(low[2], low[3]),
                               packed<Bf16>(high[0], high[1]), packed<Bf16>(high[2], high[3])};
    multiply_16(a_reg, other, 16 * j, 0, sum_reg);
  }
}

}  // namespace ringcraft::kernels
