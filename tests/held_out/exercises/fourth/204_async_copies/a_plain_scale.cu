// Mistake: attend multiplies the scores with softmax_scale alone instead of with softmax_scale * kLog2E before softmax, which takes powers of two; so the weights are 2^s instead of e^s, and m is ln 2 times what it should be.
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
    const int group = column / 64, piece = column / 8 % 8;
    return smem + kHeadDim * row + 64 * group + 8 * (piece ^ (row % 8));
  }
};

// Starts to copy `rows` rows of head_dim numbers into a tile; what is missing is 0, also behind the last key:
// a row of V there meets weight 0. Rows that cp.async cannot copy are copied at once.
template <int kHeadDim, int kRows>
__device__ void start_rows(Tile<kHeadDim, kRows> tile, const Bf16* gmem, int rows, int head_dim,
                           Access access) {
  constexpr int kPieces = kHeadDim / 8;
  for (int i = int(threadIdx.x); i < kRows * kPieces; i += kThreads) {
    const int row = i / kPieces, piece = i % kPieces;
    Bf16* const to_smem = tile.at(row, 8 * piece);
    const Bf16* const from_gmem = gmem + std::ptrdiff_t{row} * head_dim + 8 * piece;
    if (access == Access::kScalar) {
      for (int n = 0; n < 8; ++n)
        to_smem[n] = row < rows && 8 * piece + n < head_dim ? from_gmem[n] : Bf16{0};
    } else {
      cp_async_16(to_smem, from_gmem, row < rows && 8 * piece < head_dim);
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
  const auto rows_from = [&](const void* gmem, std::ptrdiff_t row) {
    return static_cast<const Bf16*>(gmem) + row * step.head_dim;
  };
  const int head_dim = step.head_dim;
  int key0 = tile.first_visible(kKeys), stage = 0;

  start_rows(stages.q(), rows_from(step.q_gmem, tile.first_row), tile.rows, head_dim, access);
  start_rows(stages.k(0), rows_from(step.k_gmem, tile.first_key + key0), step.keys - key0, head_dim, access);
  start_rows(stages.v(0), rows_from(step.v_gmem, tile.first_key + key0), step.keys - key0, head_dim, access);
  cp_async_commit();

  const Visible visible(step, tile);
  while (key0 < tile.end_last) {
    cp_async_wait<0>();
    __syncthreads();
    const int next0 = key0 + kKeys, other = 1 - stage;
    if (next0 < tile.end_last) {
      const int left = step.keys - next0;
      start_rows(stages.k(other), rows_from(step.k_gmem, tile.first_key + next0), left, head_dim, access);
      start_rows(stages.v(other), rows_from(step.v_gmem, tile.first_key + next0), left, head_dim, access);
      cp_async_commit();
    }
    if (__ballot_sync(0xffffffffu, visible.meets(key0, kKeys)) != 0) {
      TileScores<kKeys> score_reg = {};
      multiply_transposed<kHeadDim>(stages.q(), stages.k(stage), score_reg);
#pragma unroll
      for (int j = 0; j < kKeys / 8; ++j)
#pragma unroll
        for (int i = 0; i < 4; ++i) score_reg[j][i] *= step.softmax_scale;
      if (!tile.full(key0, kKeys)) mask(score_reg, visible, key0);
      softmax(partial, score_reg);
      multiply(score_reg, stages.v(stage), partial.out_reg);
    }
    key0 = next0;
    stage = other;
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
