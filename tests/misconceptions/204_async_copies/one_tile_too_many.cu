// AC8: starts a tile after the last one.
// Fails: skipped "the tiles from the first to the last key"
// Hint: Who reads what is started in the last turn?
#include "engine/launch.cuh"
#include "forward/fragments.cuh"

namespace ringcraft::kernels {
namespace {

template <int kHeadDim>
constexpr int kTileNumbers = kTile* kHeadDim;
template <int kHeadDim>
constexpr int kSharedBytes = 5 * kTileNumbers<kHeadDim>* int(sizeof(Bf16));

template <int kHeadDim>
constexpr int kBlocksPerSm = kHeadDim == 64 ? 3 : 2;

template <int kHeadDim>
struct Tile {
  Bf16* smem;
  __device__ Bf16* at(int row, int column) const {
    return smem + row * kHeadDim + ((column / 8) ^ (row % 8)) * 8;
  }
};

template <int kHeadDim>
__device__ void start_rows(Tile<kHeadDim> tile, const Bf16* gmem, int rows, int head_dim, Access access) {
  constexpr int kPieces = kHeadDim / 8;
  const int column = int(threadIdx.x) % kPieces * 8;
#pragma unroll 4
  for (int row = int(threadIdx.x) / kPieces; row < kTile; row += kThreads / kPieces) {
    const Bf16* const from = gmem + row * head_dim + column;
    Bf16* const to = tile.at(row, column);
    if (access == Access::kVector)
      cp_async_16(to, from, row < rows && column < head_dim);
    else
      for (int i = 0; i < 8; ++i) to[i] = row < rows && column + i < head_dim ? from[i] : Bf16{0};
  }
}

template <int kHeadDim>
struct Stages {
  Bf16* smem;
  __device__ Tile<kHeadDim> q() const { return {smem}; }
  __device__ Tile<kHeadDim> k(int stage) const { return {smem + (1 + 2 * stage) * kTileNumbers<kHeadDim>}; }
  __device__ Tile<kHeadDim> v(int stage) const { return {smem + (2 + 2 * stage) * kTileNumbers<kHeadDim>}; }
};

template <int kHeadDim>
__device__ void attend(const ForwardStep& step, const QueryTile& tile, Stages<kHeadDim> stages, Access access,
                       Partial<kHeadDim>& partial) {
  const Visible visible(step, tile);
  const auto start = [&](Tile<kHeadDim> to, const void* gmem, std::ptrdiff_t row, int rows) {
    start_rows(to, static_cast<const Bf16*>(gmem) + row * step.head_dim, rows, step.head_dim, access);
  };
  const auto start_keys = [&](int stage, int key0) {
    start(stages.k(stage), step.k_gmem, tile.first_key + key0, step.keys - key0);
    start(stages.v(stage), step.v_gmem, tile.first_key + key0, step.keys - key0);
    cp_async_commit();
  };

  start(stages.q(), step.q_gmem, tile.first_row, tile.rows);
  start_keys(0, tile.first_visible());

  const float scale = kLog2E * step.softmax_scale;
  int stage = 0;
  for (int key0 = tile.first_visible(); key0 < tile.end_last; key0 += kTile, stage ^= 1) {
    cp_async_wait<0>();
    __syncthreads();
    start_keys(stage ^ 1, key0 + kTile);
    if (__ballot_sync(0xffffffffu, visible.meets(key0)) == 0) continue;

    Scores score_reg = {};
    multiply_transposed<kHeadDim>(stages.q(), stages.k(stage), score_reg);
    for (auto& s : score_reg)
      for (float& score : s) score *= scale;
    if (!tile.full(key0)) mask(score_reg, visible, key0);
    softmax(partial, score_reg);
    multiply(score_reg, stages.v(stage), partial.out_reg);
  }
}

template <int kHeadDim>
__global__ void __launch_bounds__(kThreads, kBlocksPerSm<kHeadDim>)
    pipeline_kernel(const ForwardStep step, Access access) {
  const QueryTile tile(step);
  if (!tile.sees_keys()) return;
  Partial<kHeadDim> partial;
  attend(step, tile, Stages<kHeadDim>{dynamic_shared<Bf16>()}, access, partial);
  merge_into(step, tile, partial);
}

template <int kHeadDim>
void launch_padded(const ForwardStep& step, cudaStream_t stream) {
  constexpr int kBytes = kSharedBytes<kHeadDim>;
  RINGCRAFT_CUDA(
      cudaFuncSetAttribute(pipeline_kernel<kHeadDim>, cudaFuncAttributeMaxDynamicSharedMemorySize, kBytes));
  const dim3 grid((unsigned(step.rows) + kTile - 1) / kTile, unsigned(step.heads), unsigned(step.batch));
  const Access access = access_for(step.head_dim * sizeof(Bf16), step.q_gmem, step.k_gmem, step.v_gmem);
  launch(pipeline_kernel<kHeadDim>, grid, kThreads, kBytes, stream, step, access);
}

void enqueue(const ForwardStep& step, float*, cudaStream_t stream) {
  step.head_dim <= 64 ? launch_padded<64>(step, stream) : launch_padded<128>(step, stream);
}

}  // namespace

const ForwardRung kPipeline{5, "pipeline", DType::kBFloat16, 128, nullptr, enqueue};

}  // namespace ringcraft::kernels
