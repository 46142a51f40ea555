// Backward rung 03: the two kernels of rung 02 on tensor cores. q, k, v and dout are bf16, sums and gradients
// float32. Tiles lie and arrive as in rung 05 of the forward pass: swizzled, by cp.async, the next ones while
// these are computed on. P and dS need no shared memory any more (weights.cuh).
//
// Division of work: a thread block of `dq` takes 64 query rows of one head and walks over the keys that they
// see. A thread block of `dkdv` takes 64 keys of one KV head and walks over the rows that see them, of one
// query head of the group after the other. No two thread blocks add to the same number: no atomics, and the
// same bits in every run.
//
// Remaining weakness: seven products of tiles where five would do, since S and dP are computed in both
// kernels.
#include <type_traits>

#include "backward/row_walk.cuh"
#include "engine/launch.cuh"

namespace ringcraft::kernels {
namespace {

// Other rows of a tile, 64 and 32 or 32 and 16: P and dS of them lie in registers beside the gradients of the
// own rows, and four tiles of them in shared memory. Twice as many would spill at 64 and leave an SM to one
// thread block at 128.
template <int kHeadDim>
using Tiles = std::conditional_t<kHeadDim == 64, TileList<kTile, 64, 32>, TileList<kTile, 32, 16>>;

constexpr int kBlocksPerSm = 2;
template <int kHeadDim, int kOther>
constexpr int kSharedBytes = SharedTiles<kHeadDim, kOther>::kNumbers* int(sizeof(Bf16));

// ---- dq += softmax_scale dS k

// Grid: (tiles of rows, heads, batch).
template <int kHeadDim, int kOther>
__global__ void __launch_bounds__(kThreads, kBlocksPerSm) dq_kernel(const BackwardStep step, Access access) {
  const OwnRows<kOther> own(step.key_begin_gmem, step.key_end_gmem, step.rows);
  if (own.tiles() == 0) return;
  const SharedTiles<kHeadDim, kOther> tiles{dynamic_shared<Bf16>()};
  const auto q = tiles.own(0), dout = tiles.own(1);

  const int group = step.heads / step.kv_heads, head_dim = step.head_dim;
  const Index first_row = (Index{blockIdx.z} * step.heads + blockIdx.y) * step.rows + own.row0;
  const Index first_key = (Index{blockIdx.z} * step.kv_heads + int(blockIdx.y) / group) * step.keys;
  const auto start_keys = [&](int stage, int key0) {
    start_rows<kOther>(tiles.other(stage, 0), step.k_gmem, first_key + key0, step.keys - key0, head_dim,
                       access);
    start_rows<kOther>(tiles.other(stage, 1), step.v_gmem, first_key + key0, step.keys - key0, head_dim,
                       access);
    cp_async_commit();
  };
  start_rows<kTile>(q, step.q_gmem, first_row, own.rows, head_dim, access);
  start_rows<kTile>(dout, step.dout_gmem, first_row, own.rows, head_dim, access);
  start_keys(0, own.first());

  RowNumbers row_reg[kLaneRows];
#pragma unroll
  for (int i = 0; i < kLaneRows; ++i)
    if (tile_row(i) < own.rows) row_reg[i] = RowNumbers(step, first_row + tile_row(i));
  Gradient<kHeadDim> dq_reg = {};

  int stage = 0;
  for (int key0 = own.first(); key0 < own.end_last; key0 += kOther, stage ^= 1) {
    cp_async_wait<0>();  // this thread's part of k and v and, the first time, of q and dout
    __syncthreads();     // all parts; and all have read the other stage, the tile before
    if (key0 + kOther < own.end_last) start_keys(stage ^ 1, key0 + kOther);
    const auto k = tiles.other(stage, 0), v = tiles.other(stage, 1);

    Weights<kOther> p_reg = {}, ds_reg = {};
    multiply_transposed<kHeadDim, kUnroll>(q, k, p_reg);
    multiply_transposed<kHeadDim, kUnroll>(dout, v, ds_reg);
    become_weights(p_reg, ds_reg, step.softmax_scale, own, key0, [&](int i, int) { return row_reg[i]; });
    multiply(ds_reg, k, dq_reg);
  }
  add_to<kHeadDim>(step.dq_gmem + first_row * head_dim, dq_reg, step.softmax_scale, own.rows, head_dim);
}

// ---- dk += softmax_scale dSᵀ q, dv += Pᵀ dout

// Grid: (tiles of keys, kv_heads, batch).
template <int kHeadDim, int kOther>
__global__ void __launch_bounds__(kThreads, kBlocksPerSm)
    dkdv_kernel(const BackwardStep step, Access access) {
  const RowWalk<kHeadDim, kOther> walk(step, access, dynamic_shared<Bf16>());
  if (walk.turns() == 0) return;
  walk.start();
  Gradient<kHeadDim> dk_reg = {}, dv_reg = {};
  for (int turn = 0; turn < walk.turns(); ++turn) {
    cp_async_wait<0>();  // this thread's part of q and dout and, the first time, of k and v
    __syncthreads();     // all parts; and all have read the other stage, the turn before
    walk.start(turn + 1);

    Weights<kOther> p_reg = {}, ds_reg = {};
    walk.weights(turn, p_reg, ds_reg);
    multiply(p_reg, walk.dout(turn), dv_reg);
    multiply(ds_reg, walk.q(turn), dk_reg);
  }
  walk.add(dk_reg, dv_reg);
}

// ---- The launches

template <int kHeadDim, int kOther>
void launch_tiled(const BackwardStep& step, cudaStream_t stream) {
  constexpr int kBytes = kSharedBytes<kHeadDim, kOther>;  // more than a kernel gets unasked
  static_assert(share_an_sm(kBlocksPerSm, kBytes));
  const Access access =
      access_for(step.head_dim * sizeof(Bf16), step.q_gmem, step.k_gmem, step.v_gmem, step.dout_gmem);
  const auto launch_over = [&](void (*kernel)(const BackwardStep, Access), int rows, int heads) {
    RINGCRAFT_CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kBytes));
    const dim3 grid((unsigned(rows) + kTile - 1) / kTile, unsigned(heads), unsigned(step.batch));
    launch(kernel, grid, kThreads, kBytes, stream, step, access);
  };
  launch_over(dq_kernel<kHeadDim, kOther>, step.rows, step.heads);
  launch_over(dkdv_kernel<kHeadDim, kOther>, step.keys, step.kv_heads);
}

template <int kHeadDim>
void launch_padded(const BackwardStep& step, cudaStream_t stream) {
  Tiles<kHeadDim>::choose(step.tile, [&]<int kOther>() { launch_tiled<kHeadDim, kOther>(step, stream); });
}

void enqueue(const BackwardStep& step, float*, cudaStream_t stream) {
  step.head_dim <= 64 ? launch_padded<64>(step, stream) : launch_padded<128>(step, stream);
}

std::span<const TileSize> tiles(int head_dim) {
  if (padded_head_dim(head_dim) == 64) return Tiles<64>::kSizes;
  return Tiles<128>::kSizes;
}

}  // namespace

const BackwardRung kTensorCoresBackward{.number = 3,
                                        .name = "tensor cores",
                                        .dtype = DType::kBFloat16,
                                        .largest_head_dim = 128,
                                        .workspace = nullptr,
                                        .run = enqueue,
                                        .tiles = tiles};

}  // namespace ringcraft::kernels
