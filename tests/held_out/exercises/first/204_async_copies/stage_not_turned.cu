// Mistake: A warp that skips a tile which it does not see goes on without turning to the other stage, so it reads and fills the wrong stage from then on.
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
    return smem + row * kHeadDim + 8 * ((column >> 3) ^ (row & 7));
  }
};

// Starts to copy `rows` rows of head_dim numbers into a tile; what is missing is 0, also behind the last key:
// a row of V there meets weight 0. Rows that cp.async cannot copy are copied at once.
template <int kHeadDim, int kRows>
__device__ void start_rows(Tile<kHeadDim, kRows> tile, const Bf16* gmem, int rows, int head_dim,
                           Access access) {
  constexpr int pieces_of_row = kHeadDim / 8;
  constexpr int rows_at_once = kThreads / pieces_of_row;
  const int piece = int(threadIdx.x) % pieces_of_row;
  for (int row = int(threadIdx.x) / pieces_of_row; row < kRows; row += rows_at_once) {
    Bf16* to = tile.at(row, 8 * piece);
    const Bf16* from = gmem + row * head_dim + 8 * piece;
    if (access == Access::kVector) {
      const bool there = row < rows && 8 * piece < head_dim;
      cp_async_16(to, from, there);
      continue;
    }
    for (int c = 0; c < 8; c++) {
      const bool there = row < rows && 8 * piece + c < head_dim;
      to[c] = there ? from[c] : Bf16{0};
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
  const Bf16* q = static_cast<const Bf16*>(step.q_gmem) + tile.first_row * step.head_dim;
  const Bf16* k = static_cast<const Bf16*>(step.k_gmem) + tile.first_key * step.head_dim;
  const Bf16* v = static_cast<const Bf16*>(step.v_gmem) + tile.first_key * step.head_dim;
  const float scale = step.softmax_scale * kLog2E;
  Visible visible(step, tile);

  int key0 = tile.first_visible(kKeys);
  int current = 0;
  start_rows(stages.q(), q, tile.rows, step.head_dim, access);
  start_rows(stages.k(current), k + std::ptrdiff_t(key0) * step.head_dim, step.keys - key0, step.head_dim, access);
  start_rows(stages.v(current), v + std::ptrdiff_t(key0) * step.head_dim, step.keys - key0, step.head_dim, access);
  cp_async_commit();

  while (key0 < tile.end_last) {
    cp_async_wait<0>();
    __syncthreads();
    const int next = key0 + kKeys;
    if (next < tile.end_last) {
      start_rows(stages.k(current ^ 1), k + std::ptrdiff_t(next) * step.head_dim, step.keys - next, step.head_dim, access);
      start_rows(stages.v(current ^ 1), v + std::ptrdiff_t(next) * step.head_dim, step.keys - next, step.head_dim, access);
      cp_async_commit();
    }
    const bool wanted = __ballot_sync(0xffffffffu, visible.meets(key0, kKeys)) != 0;
    if (!wanted) {

      key0 = next;
      continue;
    }
    TileScores<kKeys> s = {};
    multiply_transposed<kHeadDim>(stages.q(), stages.k(current), s);
    for (auto& accumulator : s)
      for (float& x : accumulator) x *= scale;
    if (!tile.full(key0, kKeys)) mask(s, visible, key0);
    softmax(partial, s);
    multiply(s, stages.v(current), partial.out_reg);
    current ^= 1;
    key0 = next;
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
