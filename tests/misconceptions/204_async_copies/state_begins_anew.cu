// RF14: begins a new partial with every tile.
// Fails: two-tiles "out of row"
// Hint: What does the partial know of the tiles before?
#include <type_traits>

#include "engine/launch.cuh"
#include "forward/fragments.cuh"

namespace ringcraft::kernels {
namespace {

template <int kHeadDim>
using Tiles = std::conditional_t<kHeadDim == 64, TileList<kTile, 64, 32, 128>, TileList<kTile, 64, 32>>;

template <int kHeadDim, int kKeys>
constexpr int kSharedBytes = (kTile + 4 * kKeys) * kHeadDim* int(sizeof(Bf16));

template <int kHeadDim, int kKeys>
constexpr int kBlocksPerSm = kHeadDim == 64 && kKeys <= 64 ? 3 : 2;

template <int kHeadDim, int kRows>
struct Tile {
  Bf16* smem;
  __device__ Bf16* at(int row, int column) const {
    const int piece = column / 8, place = piece ^ (row % 8);
    return smem + kHeadDim * row + 8 * place;
  }
};

template <int kHeadDim, int kRows>
__device__ void start_rows(Tile<kHeadDim, kRows> tile, const Bf16* gmem, int rows, int head_dim,
                           Access access) {
  constexpr int kPieces = kHeadDim / 8;
#pragma unroll 4
  for (int i = int(threadIdx.x); i < kRows * kPieces; i += kThreads) {
    const int row = i / kPieces, first = i % kPieces * 8;
    const bool inside = row < rows && first < head_dim;
    const Bf16* const piece_gmem = gmem + row * head_dim + first;
    Bf16* const piece_smem = tile.at(row, first);
    if (access == Access::kVector)
      cp_async_16(piece_smem, piece_gmem, inside);
    else
      for (int c = 0; c < 8; ++c) piece_smem[c] = inside && first + c < head_dim ? piece_gmem[c] : Bf16{0};
  }
}

template <int kHeadDim, int kKeys>
struct Stages {
  Bf16* smem;
  __device__ Tile<kHeadDim, kTile> q() const { return {smem}; }
  __device__ Tile<kHeadDim, kKeys> k(int stage) const { return keys(2 * stage); }
  __device__ Tile<kHeadDim, kKeys> v(int stage) const { return keys(2 * stage + 1); }

 private:
  __device__ Tile<kHeadDim, kKeys> keys(int place) const {
    return {smem + (kTile + place * kKeys) * kHeadDim};
  }
};

template <int kHeadDim, int kKeys>
__device__ void attend(const ForwardStep& step, const QueryTile& tile, Stages<kHeadDim, kKeys> stages,
                       Access access, Partial<kHeadDim>& partial) {
  const Visible visible(step, tile);
  const auto start = [&](auto to, const void* gmem, std::ptrdiff_t row, int rows) {
    start_rows(to, static_cast<const Bf16*>(gmem) + row * step.head_dim, rows, step.head_dim, access);
  };
  const auto start_keys = [&](int stage, int key0) {
    start(stages.k(stage), step.k_gmem, tile.first_key + key0, step.keys - key0);
    start(stages.v(stage), step.v_gmem, tile.first_key + key0, step.keys - key0);
    cp_async_commit();
  };

  start(stages.q(), step.q_gmem, tile.first_row, tile.rows);
  start_keys(0, tile.first_visible(kKeys));

  const float scale = kLog2E * step.softmax_scale;
  int stage = 0;
  for (int key0 = tile.first_visible(kKeys); key0 < tile.end_last; key0 += kKeys, stage ^= 1) {
    cp_async_wait<0>();
    __syncthreads();
    if (key0 + kKeys < tile.end_last) start_keys(stage ^ 1, key0 + kKeys);
    if (__ballot_sync(0xffffffffu, visible.meets(key0, kKeys)) == 0) continue;

    TileScores<kKeys> score_reg = {};
    multiply_transposed<kHeadDim>(stages.q(), stages.k(stage), score_reg);
    for (auto& s : score_reg)
      for (float& score : s) score *= scale;
    if (!tile.full(key0, kKeys)) mask(score_reg, visible, key0);
    partial = {};
    softmax(partial, score_reg);
    multiply(score_reg, stages.v(stage), partial.out_reg);
  }
}

template <int kHeadDim, int kKeys>
__global__ void __launch_bounds__(kThreads, kBlocksPerSm<kHeadDim, kKeys>)
    pipeline_kernel(const ForwardStep step, Access access) {
  const QueryTile tile(step);
  if (!tile.sees_keys()) return;
  Partial<kHeadDim> partial;
  attend(step, tile, Stages<kHeadDim, kKeys>{dynamic_shared<Bf16>()}, access, partial);
  merge_into(step, tile, partial);
}

template <int kHeadDim, int kKeys>
void launch_tiled(const ForwardStep& step, cudaStream_t stream) {
  constexpr int kBytes = kSharedBytes<kHeadDim, kKeys>;
  static_assert(share_an_sm(kBlocksPerSm<kHeadDim, kKeys>, kBytes));
  const auto kernel = pipeline_kernel<kHeadDim, kKeys>;
  RINGCRAFT_CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kBytes));
  const dim3 grid((unsigned(step.rows) + kTile - 1) / kTile, unsigned(step.heads), unsigned(step.batch));
  const Access access = access_for(step.head_dim * sizeof(Bf16), step.q_gmem, step.k_gmem, step.v_gmem);
  launch(kernel, grid, kThreads, kBytes, stream, step, access);
}

template <int kHeadDim>
void launch_padded(const ForwardStep& step, cudaStream_t stream) {
  Tiles<kHeadDim>::choose(step.tile, [&]<int kKeys>() { launch_tiled<kHeadDim, kKeys>(step, stream); });
}

void enqueue(const ForwardStep& step, float*, cudaStream_t stream) {
  step.head_dim <= 64 ? launch_padded<64>(step, stream) : launch_padded<128>(step, stream);
}

std::span<const TileSize> tiles(int head_dim) {
  if (padded_head_dim(head_dim) == 64) return Tiles<64>::kSizes;
  return Tiles<128>::kSizes;
}

}

const ForwardRung kPipeline{.number = 5,
                            .name = "pipeline",
                            .dtype = DType::kBFloat16,
                            .largest_head_dim = 128,
                            .workspace = nullptr,
                            .run = enqueue,
                            .tiles = tiles};

}
