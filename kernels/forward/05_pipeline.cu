// Rung 05: rung 04 without waiting for memory. Two things are new, and both are about shared memory: tiles
// are swizzled (SwizzledTile of engine/warp_tiles.cuh), so that no access meets a bank twice, and there are
// two places for K and V, so that the next tiles are copied (cp.async) while these are computed on.
#include "engine/launch.cuh"
#include "forward/fragments.cuh"

namespace ringcraft::kernels {
namespace {

template <int kHeadDim>
constexpr int kTileNumbers = kTile* kHeadDim;
template <int kHeadDim>  // q, and K and V twice
constexpr int kSharedBytes = 5 * kTileNumbers<kHeadDim>* int(sizeof(Bf16));

template <int kHeadDim>  // thread blocks that share an SM
constexpr int kBlocksPerSm = kHeadDim == 64 ? 3 : 2;

template <int kHeadDim>
__global__ void __launch_bounds__(kThreads, kBlocksPerSm<kHeadDim>)
    pipeline_kernel(const ForwardStep step, Access access) {
  using Tile = SwizzledTile<kHeadDim>;
  const QueryTile tile(step);
  if (!tile.sees_keys()) return;
  const Visible visible(step, tile);
  // Behind q there are two stages of K and V; the tiles of keys take turns in them.
  const Tile q{dynamic_shared<Bf16>()};
  const auto k_tile = [&](int stage) { return Tile{q.smem + (1 + 2 * stage) * kTileNumbers<kHeadDim>}; };
  const auto v_tile = [&](int stage) { return Tile{q.smem + (2 + 2 * stage) * kTileNumbers<kHeadDim>}; };
  const auto start = [&](Tile to, const void* gmem, std::ptrdiff_t row, int rows) {
    start_copy<kTile>(to, static_cast<const Bf16*>(gmem) + row * step.head_dim, rows, step.head_dim, access);
  };
  const auto start_keys = [&](int stage, int key0) {
    start(k_tile(stage), step.k_gmem, tile.first_key + key0, step.keys - key0);
    start(v_tile(stage), step.v_gmem, tile.first_key + key0, step.keys - key0);
    cp_async_commit();
  };

  start(q, step.q_gmem, tile.first_row, tile.rows);
  start_keys(0, tile.first_visible());
  Partial<kHeadDim> partial;

  const float scale = kLog2E * step.softmax_scale;
  int stage = 0;
  for (int key0 = tile.first_visible(); key0 < tile.end_last; key0 += kTile, stage ^= 1) {
    cp_async_wait<0>();  // this thread's part of K and V and, the first time, of q
    __syncthreads();     // all parts; and all have read the other stage, the tile before
    if (key0 + kTile < tile.end_last) start_keys(stage ^ 1, key0 + kTile);
    // Where sequences end, tiles may lie between the keys of one row and those of the next.
    if (__ballot_sync(0xffffffffu, visible.meets(key0)) == 0) continue;

    Scores score_reg = {};
    multiply_transposed<kHeadDim>(q, k_tile(stage), score_reg);
    for (auto& s : score_reg)
      for (float& score : s) score *= scale;
    if (!tile.full(key0)) mask(score_reg, visible, key0);
    softmax(partial, score_reg);
    multiply(score_reg, v_tile(stage), partial.out_reg);
  }
  merge_into(step, tile, partial);
}

template <int kHeadDim>
void launch_padded(const ForwardStep& step, cudaStream_t stream) {
  constexpr int kBytes = kSharedBytes<kHeadDim>;  // at 128 more than a kernel gets unasked
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
