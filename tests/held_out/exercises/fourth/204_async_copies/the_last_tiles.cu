// Mistake: attend masks a tile of keys only where it reaches behind the first row's end (key0 + kKeys > end_first); a tile that begins before some row's begin but lies before every row's end is not masked, so that with windows or packed sequences keys before a row's begin get weights.
// Lesson 204, rung 05: rung 04 without waiting for memory. Two things are new, and both are about shared
// memory: tiles are swizzled, so that no access meets a bank twice, and there are two stages of K and V, so
// that the next tiles are copied (cp.async) while these are computed on.
//
// Tile and copy stand here in plain form, for this rung, as the products do in rung 04; the backward rungs
// take SwizzledTile and start_copy of engine/warp_tiles.cuh, which are for any number of rows.
#include <type_traits>

#include "engine/launch.cuh"
#include "forward/fragments.cuh"

namespace ringcraft::kernels {
namespace {

// Keys of a tile, 64 of them or half or twice as many: their scores lie in registers beside O of the own
// rows, and four tiles of them in shared memory, of which 128 by 128 numbers would leave an SM to one thread
// block.
template <int kHeadDim>
using Tiles = std::conditional_t<kHeadDim == 64, TileList<kTile, 64, 32, 128>, TileList<kTile, 64, 32>>;

template <int kHeadDim, int kKeys>  // q, and K and V twice
constexpr int kSharedBytes = (kTile + 4 * kKeys) * kHeadDim* int(sizeof(Bf16));

template <int kHeadDim, int kKeys>  // thread blocks that share an SM
constexpr int kBlocksPerSm = kHeadDim == 64 && kKeys <= 64 ? 3 : 2;

// kRows rows, padded with zeros to kHeadDim columns, 64 or 128, in pieces of 16 bytes: eight numbers. Eight
// pieces fill the 32 banks once, and so each row begins in bank 0, as plain tiles lie.
template <int kHeadDim, int kRows>
struct Tile {
  Bf16* smem;
  // Where the piece lies that begins with this column, a multiple of 8.
  __device__ Bf16* at(int row, int column) const {
    return smem + row * kHeadDim + ((column >> 3) ^ (row & 7)) * 8;
  }
};

// Starts to copy `rows` rows of head_dim numbers into a tile; what is missing is 0, also behind the last key:
// a row of V there meets weight 0. Rows that cp.async cannot copy are copied at once.
template <int kHeadDim, int kRows>
__device__ void start_rows(Tile<kHeadDim, kRows> tile, const Bf16* gmem, int rows, int head_dim,
                           Access access) {
  constexpr int kPieces = kHeadDim / 8;
  const int column = int(threadIdx.x) % kPieces * 8;
  for (int row = int(threadIdx.x) / kPieces; row < kRows; row += kThreads / kPieces) {
    const Bf16* const from = gmem + row * head_dim + column;
    Bf16* const to = tile.at(row, column);
    if (access == Access::kVector) {
      cp_async_16(to, from, row < rows && column < head_dim);
      continue;
    }
    const int numbers = row < rows ? min(8, head_dim - column) : 0;
    for (int i = 0; i < 8; ++i) {
      Bf16 x{0};
      if (i < numbers) x = from[i];
      to[i] = x;
    }
  }
}

// What lies in shared memory: q, and behind it two stages of K and V, in which the tiles of keys take turns.
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

// The partial result of this warp's rows for all keys of the step.
template <int kHeadDim, int kKeys>
__device__ void attend(const ForwardStep& step, const QueryTile& tile, Stages<kHeadDim, kKeys> stages,
                       Access access, Partial<kHeadDim>& partial) {
  const Bf16* const k_gmem = static_cast<const Bf16*>(step.k_gmem) + tile.first_key * step.head_dim;
  const Bf16* const v_gmem = static_cast<const Bf16*>(step.v_gmem) + tile.first_key * step.head_dim;
  const auto fetch = [&](int stage, int key0) {
    const std::ptrdiff_t from = std::ptrdiff_t{key0} * step.head_dim;
    start_rows(stages.k(stage), k_gmem + from, step.keys - key0, step.head_dim, access);
    start_rows(stages.v(stage), v_gmem + from, step.keys - key0, step.head_dim, access);
    cp_async_commit();
  };
  const Visible visible(step, tile);
  const float scale = step.softmax_scale * kLog2E;
  const int first = tile.first_visible(kKeys), tiles = (tile.end_last - first + kKeys - 1) / kKeys;

  start_rows(stages.q(), static_cast<const Bf16*>(step.q_gmem) + tile.first_row * step.head_dim, tile.rows,
             step.head_dim, access);
  fetch(0, first);
  for (int n = 0; n < tiles; ++n) {
    const int key0 = first + n * kKeys, stage = n % 2;
    cp_async_wait<0>();
    __syncthreads();
    if (n + 1 < tiles) fetch(1 - stage, key0 + kKeys);
    if (__ballot_sync(0xffffffffu, visible.meets(key0, kKeys)) == 0) continue;

    TileScores<kKeys> s = {};
    multiply_transposed<kHeadDim>(stages.q(), stages.k(stage), s);
    for (auto& accumulator : s)
      for (float& x : accumulator) x *= scale;
    const bool behind_an_end = key0 + kKeys > tile.end_first;
    if (behind_an_end) mask(s, visible, key0);
    softmax(partial, s);
    multiply(s, stages.v(stage), partial.out_reg);
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
  constexpr int kBytes = kSharedBytes<kHeadDim, kKeys>;  // at 128 more than a kernel gets unasked
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

}  // namespace

const ForwardRung kPipeline{.number = 5,
                            .name = "pipeline",
                            .dtype = DType::kBFloat16,
                            .largest_head_dim = 128,
                            .workspace = nullptr,
                            .run = enqueue,
                            .tiles = tiles};

}  // namespace ringcraft::kernels
