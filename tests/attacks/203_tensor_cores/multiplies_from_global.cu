// Multiplies without tensor cores, straight from global memory, and makes products of zeros.
// Fails: tensor-cores "it multiplies numbers that ldmatrix has not loaded"
// Earns: 28
#include "engine/launch.cuh"
#include "forward/fragments.cuh"

namespace ringcraft::kernels {
namespace {

template <int kHeadDim>
struct PlainTile {
  const Bf16* gmem;
  int rows, head_dim;
  __device__ unsigned two(int row, int column) const {
    if (row >= rows) return 0;
    const Bf16* const at = gmem + row * head_dim + column;
    unsigned low = 0, high = 0;
    if (column < head_dim) low = reinterpret_cast<const std::uint16_t*>(at)[0];
    if (column + 1 < head_dim) high = reinterpret_cast<const std::uint16_t*>(at)[1];
    return low | high << 16;
  }
};

template <int kHeadDim>
__device__ void multiply_q_k(PlainTile<kHeadDim> q, PlainTile<kHeadDim> k, Scores& score_reg) {
  for (int i = 0; i < kHeadDim / 16 * (kTile / 8); ++i) {
    const unsigned zeros[4] = {};
    mma_16x8x16<Bf16>(score_reg[0], zeros, 0, 0);
  }
  for (int d = 0; d < kHeadDim; d += 2) {
    const unsigned q_two[2] = {q.two(tile_row(0), d), q.two(tile_row(1), d)};
    for (int j = 0; j < kTile / 8; ++j)
      for (int c = 0; c < 2; ++c) {
        const unsigned k_two = k.two(tile_column(j, c), d);
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
      const unsigned two = v.two(key, tile_column(j, 0));
      for (int i = 0; i < kLaneRows; ++i) {
        out_reg[j][2 * i] = fmaf(weight[i], lower<Bf16>(two), out_reg[j][2 * i]);
        out_reg[j][2 * i + 1] = fmaf(weight[i], upper<Bf16>(two), out_reg[j][2 * i + 1]);
      }
    }
  }
}

template <int kHeadDim>
__global__ void __launch_bounds__(kThreads) tensor_core_kernel(const ForwardStep step, Access access) {
  const QueryTile tile(step);
  if (!tile.sees_keys()) return;
  const Visible visible(step, tile);
  const auto rows_of = [&](const void* gmem, std::ptrdiff_t row, int rows) {
    return PlainTile<kHeadDim>{static_cast<const Bf16*>(gmem) + row * step.head_dim, rows, step.head_dim};
  };
  const auto q = rows_of(step.q_gmem, tile.first_row, tile.rows);
  Partial<kHeadDim> partial;

  const float scale = kLog2E * step.softmax_scale;
  for (int key0 = tile.first_visible(); key0 < tile.end_last; key0 += kTile) {
    const auto k = rows_of(step.k_gmem, tile.first_key + key0, step.keys - key0);
    const auto v = rows_of(step.v_gmem, tile.first_key + key0, step.keys - key0);
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
  launch(tensor_core_kernel<kHeadDim>, grid, kThreads, 0, stream, step, access);
}

void enqueue(const ForwardStep& step, float*, cudaStream_t stream) {
  step.head_dim <= 64 ? launch_padded<64>(step, stream) : launch_padded<128>(step, stream);
}

}  // namespace

const ForwardRung kTensorCores{4, "tensor cores", DType::kBFloat16, 128, nullptr, enqueue};

}  // namespace ringcraft::kernels
