// Rung 05: rung 04 without waiting for memory. Two things are new, and both are about shared memory: tiles
// are swizzled, so that no access meets a bank twice, and there are two places for K and V, so that the next
// tiles are copied (cp.async) while these are computed on.
#include "engine/launch.cuh"
#include "engine/vector4.cuh"
#include "forward/fragments.cuh"

namespace ringcraft::kernels {
namespace {

// kTile rows, padded with zeros to kHeadDim columns, 64 or 128, in pieces of 16 bytes. Eight pieces fill the
// 32 banks once, and so each row of 128 or 256 bytes begins in bank 0. The pieces of a row therefore change
// places: piece p of row r lies where p xor r % 8 would. Eight neighbouring rows have any one piece in eight
// different places, as ldmatrix wants it, and eight neighbouring pieces of a row still fill the banks once,
// as the copies want it.
template <int kHeadDim>
struct SwizzledTile {
  Bf16* smem;
  __device__ Bf16* at(int row, int column) const {
    return smem + row * kHeadDim + ((column / 8) ^ (row % 8)) * 8;
  }
};

template <int kHeadDim>
constexpr int kTileNumbers = kTile* kHeadDim;
template <int kHeadDim>  // q, and K and V twice
constexpr int kSharedBytes = 5 * kTileNumbers<kHeadDim>* int(sizeof(Bf16));

// Starts to copy `rows` rows of head_dim numbers; what is missing is 0. Rows that cp.async cannot copy are
// copied at once.
template <int kHeadDim>
__device__ void start_copy(SwizzledTile<kHeadDim> tile, const Bf16* gmem, int rows, int head_dim,
                           Access access) {
  constexpr int kPieces = kHeadDim / 8;  // neighbouring lanes copy neighbouring pieces of a row
  const int column = int(threadIdx.x) % kPieces * 8;
#pragma unroll 4
  for (int row = int(threadIdx.x) / kPieces; row < kTile; row += kThreads / kPieces) {
    const Bf16* const from = gmem + row * head_dim + column;
    Bf16* const to = tile.at(row, column);
    if (access == Access::kVector)
      cp_async_16(to, from, row < rows && column < head_dim);
    else
      for (int c = 0; c < 8; ++c) to[c] = row < rows && column + c < head_dim ? from[c] : Bf16{0};
  }
}

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
    start_copy(to, static_cast<const Bf16*>(gmem) + row * step.head_dim, rows, step.head_dim, access);
  };
  const auto start_keys = [&](int stage, int key0) {
    start(k_tile(stage), step.k_gmem, tile.first_key + key0, step.keys - key0);
    start(v_tile(stage), step.v_gmem, tile.first_key + key0, step.keys - key0);
    cp_async_commit();
  };

  start(q, step.q_gmem, tile.first_row, tile.rows);
  start_keys(0, tile.first_visible());
  Partial<kHeadDim> partial;

  constexpr float kLog2E = 1.44269504f;  // exp(x) = exp2(log2(e) x): the factor joins the scale
  const float scale = kLog2E * step.softmax_scale;
  int stage = 0;
  for (int key0 = tile.first_visible(); key0 < tile.end_last; key0 += kTile, stage ^= 1) {
    cp_async_wait<0>();  // this thread's part of K and V and, the first time, of q
    __syncthreads();     // all parts; and all have read the other stage, the tile before
    if (key0 + kTile < tile.end_last) start_keys(stage ^ 1, key0 + kTile);
    // Where sequences end, tiles may lie between the keys of one row and those of the next.
    if (__ballot_sync(0xffffffffu, visible.meets(key0)) == 0) continue;

    Scores score_reg = {};
    multiply_q_k<kHeadDim>(q, k_tile(stage), score_reg);
    for (auto& s : score_reg)
      for (float& score : s) score *= scale;
    if (!tile.full(key0)) mask(score_reg, visible, key0);
    softmax(partial, score_reg);
    multiply_p_v(score_reg, v_tile(stage), partial);
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
