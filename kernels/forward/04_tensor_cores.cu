// Lesson 203, rung 04: the algorithm of rung 03 on tensor cores. q, k and v are bf16; a warp multiplies
// matrices of 16 x 16 by 16 x 8 (mma.sync), whose operands it takes out of shared memory with ldmatrix, and
// adds up in float32. A warp owns 16 query rows: scores, weights and O of these rows stay in its registers
// (fragments.cuh), so that only K and V pass through shared memory.
//
// The two products stand here in plain form, for this rung's tiles; later rungs take the general ones of
// engine/warp_tiles.cuh.
//
// Shared memory is laid out as global memory is, row by row. That is simple and slow: the eight rows that one
// ldmatrix reads begin in the same bank.
#include "engine/launch.cuh"
#include "forward/fragments.cuh"

namespace ringcraft::kernels {
namespace {

// kTile rows, padded with zeros to kHeadDim columns, 64 or 128: a zero adds nothing to a dot product.
template <int kHeadDim>
struct PlainTile {
  Bf16* smem;
  __device__ Bf16* at(int row, int column) const { return smem + row * kHeadDim + column; }
};

template <int kHeadDim>  // q, K and V
constexpr int kSharedBytes = 3 * kTile* kHeadDim* int(sizeof(Bf16));

// Copies `rows` rows of head_dim numbers, eight at a time; what is missing is 0, also past the last key: a
// row of V there meets weight 0.
template <int kHeadDim>
__device__ void load_tile(PlainTile<kHeadDim> tile, const Bf16* gmem, int rows, int head_dim, Access access) {
  constexpr int kPieces = kHeadDim / 8;  // neighbouring lanes copy neighbouring pieces of a row
  const int column = int(threadIdx.x) % kPieces * 8;
#pragma unroll 4
  for (int row = int(threadIdx.x) / kPieces; row < kTile; row += kThreads / kPieces) {
    const Bf16* const from = gmem + row * head_dim + column;
    Bf16* const to = tile.at(row, column);
    if (access == Access::kVector) {
      float4 eight = {0, 0, 0, 0};
      if (row < rows && column < head_dim) eight = *reinterpret_cast<const float4*>(from);
      *reinterpret_cast<float4*>(to) = eight;
    } else {
      for (int i = 0; i < 8; ++i) to[i] = row < rows && column + i < head_dim ? from[i] : Bf16{0};
    }
  }
}

// S += q kᵀ, of the 16 rows of this warp and the kTile keys of the tile. Which lane holds which elements of
// the operands A and B and of the sum C: engine/ptx.cuh.
template <int kHeadDim>
__device__ void multiply_q_k(PlainTile<kHeadDim> q, PlainTile<kHeadDim> k, Scores& score_reg) {
  // BEGIN SOLUTION 203 [multiply_q_k]
#pragma unroll
  for (int d = 0; d < kHeadDim; d += 16) {
    unsigned q_reg[4];  // A: rows 0 to 7 and 8 to 15 of the columns d to d + 7, then of the next eight
    ldmatrix_x4(q_reg, q.at(warp_row() + lane() % 16, d + lane() / 16 * 8));
#pragma unroll
    for (int key = 0; key < kTile; key += 16) {
      // B is kᵀ, and a column of it is a row of k: loaded as it lies. Two registers for eight keys.
      unsigned k_reg[4];
      ldmatrix_x4(k_reg, k.at(key + lane() / 16 * 8 + lane() % 8, d + lane() / 8 % 2 * 8));
      mma_16x8x16<Bf16>(score_reg[key / 8], q_reg, k_reg[0], k_reg[1]);
      mma_16x8x16<Bf16>(score_reg[key / 8 + 1], q_reg, k_reg[2], k_reg[3]);
    }
  }
  // END SOLUTION [multiply_q_k]
}

// O += P v. P is the C of the first product: two accumulators of eight keys, rounded, are an A of 16.
template <int kHeadDim>
__device__ void multiply_p_v(const Scores& weight_reg, PlainTile<kHeadDim> v,
                             float (&out_reg)[kHeadDim / 8][4]) {
  // BEGIN SOLUTION 203 [multiply_p_v]
#pragma unroll
  for (int key = 0; key < kTile; key += 16) {
    const auto &low = weight_reg[key / 8], &high = weight_reg[key / 8 + 1];
    const unsigned p_reg[4] = {packed<Bf16>(low[0], low[1]), packed<Bf16>(low[2], low[3]),
                               packed<Bf16>(high[0], high[1]), packed<Bf16>(high[2], high[3])};
#pragma unroll
    for (int d = 0; d < kHeadDim; d += 16) {
      // B is v, and a column of it is a column of v: transposed on its way. Two registers for eight columns.
      unsigned v_reg[4];
      ldmatrix_x4_trans(v_reg, v.at(key + lane() % 16, d + lane() / 16 * 8));
      mma_16x8x16<Bf16>(out_reg[d / 8], p_reg, v_reg[0], v_reg[1]);
      mma_16x8x16<Bf16>(out_reg[d / 8 + 1], p_reg, v_reg[2], v_reg[3]);
    }
  }
  // END SOLUTION [multiply_p_v]
}

template <int kHeadDim>
__global__ void __launch_bounds__(kThreads) tensor_core_kernel(const ForwardStep step, Access access) {
  const PlainTile<kHeadDim> q{dynamic_shared<Bf16>()}, k{q.at(kTile, 0)}, v{k.at(kTile, 0)};
  const QueryTile tile(step);
  if (!tile.sees_keys()) return;
  const Visible visible(step, tile);
  const auto load = [&](PlainTile<kHeadDim> to, const void* gmem, std::ptrdiff_t row, int rows) {
    load_tile(to, static_cast<const Bf16*>(gmem) + row * step.head_dim, rows, step.head_dim, access);
  };

  load(q, step.q_gmem, tile.first_row, tile.rows);
  Partial<kHeadDim> partial;

  const float scale = kLog2E * step.softmax_scale;
  for (int key0 = tile.first_visible(); key0 < tile.end_last; key0 += kTile) {
    __syncthreads();  // all have read K and V of the tile before
    load(k, step.k_gmem, tile.first_key + key0, step.keys - key0);
    load(v, step.v_gmem, tile.first_key + key0, step.keys - key0);
    __syncthreads();  // all have written K and V and, the first time, q

    Scores score_reg = {};
    multiply_q_k(q, k, score_reg);
    for (auto& s : score_reg)
      for (float& score : s) score *= scale;
    if (!tile.full(key0)) mask(score_reg, visible, key0);
    softmax(partial, score_reg);
    multiply_p_v(score_reg, v, partial.out_reg);
  }
  merge_into(step, tile, partial);
}

template <int kHeadDim>
void launch_padded(const ForwardStep& step, cudaStream_t stream) {
  const dim3 grid((unsigned(step.rows) + kTile - 1) / kTile, unsigned(step.heads), unsigned(step.batch));
  const Access access = access_for(step.head_dim * sizeof(Bf16), step.q_gmem, step.k_gmem, step.v_gmem);
  launch(tensor_core_kernel<kHeadDim>, grid, kThreads, kSharedBytes<kHeadDim>, stream, step, access);
}

void enqueue(const ForwardStep& step, float*, cudaStream_t stream) {
  step.head_dim <= 64 ? launch_padded<64>(step, stream) : launch_padded<128>(step, stream);
}

}  // namespace

const ForwardRung kTensorCores{4, "tensor cores", DType::kBFloat16, 128, nullptr, enqueue};

}  // namespace ringcraft::kernels
