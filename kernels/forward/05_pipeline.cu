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
    // BEGIN SOLUTION 204 [at]
    // The pieces of a row change places: p lies where p xor row % 8 would. Eight neighbouring rows then have
    // any one piece in eight different places, as ldmatrix wants it, and eight neighbouring pieces of a row
    // still fill the banks once, as the copies want it.
    const int piece = column / 8, place = piece ^ (row % 8);
    return smem + kHeadDim * row + 8 * place;
    // END SOLUTION [at]
  }
};

// Starts to copy `rows` rows of head_dim numbers into a tile; what is missing is 0, also past the last key: a
// row of V there meets weight 0. Rows that cp.async cannot copy are copied at once.
template <int kHeadDim, int kRows>
__device__ void start_rows(Tile<kHeadDim, kRows> tile, const Bf16* gmem, int rows, int head_dim,
                           Access access) {
  // BEGIN SOLUTION 204 [start_rows]
  constexpr int kPieces = kHeadDim / 8;  // of a row; neighbouring threads take neighbouring ones
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
  // END SOLUTION [start_rows]
}

// Layout of shared memory: q, then two stages of K and V, in which the tiles of keys take turns.
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
  // BEGIN SOLUTION 204 [attend]
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
    cp_async_wait<0>();  // this thread's part of K and V and, the first time, of q
    __syncthreads();     // all parts; and all have read the other stage, the tile before
    if (key0 + kKeys < tile.end_last) start_keys(stage ^ 1, key0 + kKeys);
    // Where sequences end, tiles may lie between the keys of one row and those of the next.
    if (__ballot_sync(0xffffffffu, visible.meets(key0, kKeys)) == 0) continue;

    TileScores<kKeys> score_reg = {};
    multiply_transposed<kHeadDim>(stages.q(), stages.k(stage), score_reg);
    for (auto& s : score_reg)
      for (float& score : s) score *= scale;
    if (!tile.full(key0, kKeys)) mask(score_reg, visible, key0);
    softmax(partial, score_reg);
    multiply(score_reg, stages.v(stage), partial.out_reg);
  }
  // END SOLUTION [attend]
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
