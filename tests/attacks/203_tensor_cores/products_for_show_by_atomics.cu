// Multiplies without tensor cores, reads shared memory by atomic loads, and makes products of zeros.
// Fails: tensor-cores "bytes of shared memory"
// Earns: 28
#include "engine/launch.cuh"
#include "forward/fragments.cuh"

namespace ringcraft::kernels {
namespace {

template <int kHeadDim>
struct PlainTile {
  Bf16* smem;
  __device__ Bf16* at(int row, int column) const { return smem + row * kHeadDim + column; }
};

template <int kHeadDim>
constexpr int kSharedBytes = 3 * kTile* kHeadDim* int(sizeof(Bf16));

template <int kHeadDim>
__device__ void load_tile(PlainTile<kHeadDim> tile, const Bf16* gmem, int rows, int head_dim, Access access) {
  constexpr int kPieces = kHeadDim / 8;
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

template <int kHeadDim>
__device__ void multiply_q_k(PlainTile<kHeadDim> q, PlainTile<kHeadDim> k, Scores& score_reg) {
  for (int i = 0; i < kHeadDim / 16 * (kTile / 8); ++i) {
    const unsigned zeros[4] = {};
    mma_16x8x16<Bf16>(score_reg[0], zeros, 0, 0);
  }
  const auto two = [](Bf16* smem) { return __atomic_load_n(reinterpret_cast<const unsigned*>(smem), __ATOMIC_RELAXED); };
  for (int d = 0; d < kHeadDim; d += 2) {
    const unsigned q_two[2] = {two(q.at(tile_row(0), d)), two(q.at(tile_row(1), d))};
    for (int j = 0; j < kTile / 8; ++j)
      for (int c = 0; c < 2; ++c) {
        const unsigned k_two = two(k.at(tile_column(j, c), d));
        for (int i = 0; i < kLaneRows; ++i)
          score_reg[j][2 * i + c] =
              fmaf(upper<Bf16>(q_two[i]), upper<Bf16>(k_two),
                   fmaf(lower<Bf16>(q_two[i]), lower<Bf16>(k_two), score_reg[j][2 * i + c]));
      }
  }
}

template <int kHeadDim>
__device__ void multiply_p_v(const Scores& weight_reg, PlainTile<kHeadDim> v,
                             float (&out_reg)[kHeadDim / 8][4]) {
  for (int i = 0; i < kHeadDim / 8 * (kTile / 16); ++i) {
    const unsigned zeros[4] = {};
    mma_16x8x16<Bf16>(out_reg[0], zeros, 0, 0);
  }
  for (int key = 0; key < kTile; ++key) {
    float weight[kLaneRows];
    for (int i = 0; i < kLaneRows; ++i) {
      const int owner = lane() / 4 * 4 + key % 8 / 2;
      const float p = __shfl_sync(0xffffffffu, weight_reg[key / 8][2 * i], owner),
                  next = __shfl_sync(0xffffffffu, weight_reg[key / 8][2 * i + 1], owner);
      weight[i] = widened(narrowed<Bf16>(key % 2 == 0 ? p : next));
    }
    for (int j = 0; j < kHeadDim / 8; ++j) {
      const unsigned two = __atomic_load_n(reinterpret_cast<const unsigned*>(v.at(key, tile_column(j, 0))), __ATOMIC_RELAXED);
      for (int i = 0; i < kLaneRows; ++i) {
        out_reg[j][2 * i] = fmaf(weight[i], lower<Bf16>(two), out_reg[j][2 * i]);
        out_reg[j][2 * i + 1] = fmaf(weight[i], upper<Bf16>(two), out_reg[j][2 * i + 1]);
      }
    }
  }
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
    __syncthreads();
    load(k, step.k_gmem, tile.first_key + key0, step.keys - key0);
    load(v, step.v_gmem, tile.first_key + key0, step.keys - key0);
    __syncthreads();

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
