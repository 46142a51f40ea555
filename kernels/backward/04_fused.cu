// Backward rung 04: one kernel. The thread block of rung 03 that owns keys computes dq as well, from the dS
// that it has anyway: five products of tiles instead of seven, and q, dout, k and v are read once.
//
// Division of work: a thread block takes 64 keys of one KV head and walks over the rows that see them. dk and
// dv stay in its registers. dq belongs to rows that many thread blocks meet: each adds its part to global
// memory with atomicAdd. A part is a sum over all 64 keys, which lie with four warps: so dS, and nothing
// else, goes through shared memory, and each warp sums 16 rows by 64 columns of dq over all of them. Were
// each warp to add what its own 16 keys give, there would be four times as many atomics.
//
// The price: thread blocks add to a row of dq in the order in which they come. Each order rounds differently,
// so that dq differs from run to run in its last bits (dk and dv do not), however right each of them is: a
// training run cannot be repeated bit for bit, and no test can compare dq by its bits. And every number of dq
// is added to once for every 64 keys that its row sees, in the L2 cache, where rung 03 writes it once.
#include "backward/row_walk.cuh"
#include "engine/launch.cuh"

namespace ringcraft::kernels {
namespace {

// Rows of a turn. There is no other choice: the four warps share dq of a turn, 16 rows by 64 columns each.
template <int kHeadDim>
constexpr int kOther = kHeadDim == 64 ? 64 : 32;

template <int kHeadDim>
using Walk = RowWalk<kHeadDim, kOther<kHeadDim>>;

// dSᵀ in bf16: a row for each of the 64 keys. 8 numbers between rows: eight neighbouring ones of 40 or 72
// numbers begin in eight different groups of four banks, as ldmatrix wants it, and the lanes of a warp, that
// each write two numbers of such rows, meet all 32.
template <int kHeadDim>
struct DsTile {
  static constexpr int kStride = kOther<kHeadDim> + 8;
  static constexpr int kNumbers = kTile * kStride;
  Bf16* smem;
  __device__ Bf16* at(int key, int row) const { return smem + key * kStride + row; }
};

template <int kHeadDim>
constexpr int kSharedBytes = (SharedTiles<kHeadDim, kOther<kHeadDim>>::kNumbers +
                              DsTile<kHeadDim>::kNumbers) *
                             int(sizeof(Bf16));

// dSᵀ of this warp's keys, where all warps can read it.
template <int kHeadDim>
__device__ void store(DsTile<kHeadDim> tile, const Weights<kOther<kHeadDim>>& ds_reg) {
#pragma unroll
  for (int j = 0; j < kOther<kHeadDim> / 8; ++j)
#pragma unroll
    for (int i = 0; i < kLaneRows; ++i)
      *reinterpret_cast<unsigned*>(tile.at(tile_row(i), tile_column(j, 0))) =
          packed<Bf16>(ds_reg[j][2 * i], ds_reg[j][2 * i + 1]);
}

// A warp's part of dq: 16 rows of a turn by 64 columns.
constexpr int kPartColumns = 64;
using DqPart = float[kPartColumns / 8][4];
template <int kHeadDim>
__device__ int part_row() {
  return int(threadIdx.x) / 32 % (kOther<kHeadDim> / 16) * 16;
}
template <int kHeadDim>
__device__ int part_column() {
  return int(threadIdx.x) / 32 / (kOther<kHeadDim> / 16) * kPartColumns;
}

// dS k over all keys of the tile: dSᵀ is transposed on its way.
template <int kHeadDim>
__device__ void multiply_ds_k(DsTile<kHeadDim> ds, SwizzledTile<kHeadDim> k, DqPart& dq_reg) {
#pragma unroll 1
  for (int key = 0; key < kTile; key += 16) {
    unsigned ds_reg[4];
    ldmatrix_x4_trans(ds_reg,
                      ds.at(key + lane() % 8 + lane() / 16 * 8, part_row<kHeadDim>() + lane() / 8 % 2 * 8));
    multiply_16(ds_reg, k, key, part_column<kHeadDim>(), dq_reg);
  }
}

// Adds factor * this part to the first `rows` rows of a turn in global memory.
template <int kHeadDim>
__device__ void add_atomically(float* dq_gmem, const DqPart& dq_reg, float factor, int rows, int head_dim) {
#pragma unroll
  for (int i = 0; i < kLaneRows; ++i) {
    const int row = part_row<kHeadDim>() + lane() / 4 + 8 * i;
    if (row >= rows) continue;
#pragma unroll
    for (int j = 0; j < kPartColumns / 8; ++j)
#pragma unroll
      for (int c = 0; c < 2; ++c) {
        const int d = part_column<kHeadDim>() + tile_column(j, c);
        if (d < head_dim) atomicAdd(dq_gmem + row * head_dim + d, factor * dq_reg[j][2 * i + c]);
      }
  }
}

template <int kHeadDim>
__global__ void __launch_bounds__(kThreads, 2) fused_kernel(const BackwardStep step, Access access) {
  Bf16* const smem = dynamic_shared<Bf16>();
  const Walk<kHeadDim> walk(step, access, smem);
  const DsTile<kHeadDim> ds{smem + SharedTiles<kHeadDim, kOther<kHeadDim>>::kNumbers};
  if (walk.turns() == 0) return;
  walk.start();
  Gradient<kHeadDim> dk_reg = {}, dv_reg = {};
  for (int turn = 0; turn < walk.turns(); ++turn) {
    cp_async_wait<0>();  // this thread's part of q and dout and, the first time, of k and v
    __syncthreads();     // all parts; and all have read the other stage and dS, the turn before

    Weights<kOther<kHeadDim>> p_reg = {}, ds_reg = {};
    walk.weights(turn, p_reg, ds_reg);
    store(ds, ds_reg);
    multiply(p_reg, walk.dout(turn), dv_reg);
    multiply(ds_reg, walk.q(turn), dk_reg);

    walk.start(turn + 1);  // not before: P and dS have left their registers to it
    __syncthreads();       // dS of all warps
    DqPart dq_reg = {};
    multiply_ds_k(ds, walk.k(), dq_reg);
    add_atomically<kHeadDim>(step.dq_gmem + walk.first_row(turn) * step.head_dim, dq_reg, step.softmax_scale,
                             step.rows - walk.row0(turn), step.head_dim);
  }
  walk.add(dk_reg, dv_reg);
}

template <int kHeadDim>
void launch_padded(const BackwardStep& step, cudaStream_t stream) {
  constexpr int kBytes = kSharedBytes<kHeadDim>;  // more than a kernel gets unasked
  RINGCRAFT_CUDA(
      cudaFuncSetAttribute(fused_kernel<kHeadDim>, cudaFuncAttributeMaxDynamicSharedMemorySize, kBytes));
  const dim3 grid((unsigned(step.keys) + kTile - 1) / kTile, unsigned(step.kv_heads), unsigned(step.batch));
  const Access access =
      access_for(step.head_dim * sizeof(Bf16), step.q_gmem, step.k_gmem, step.v_gmem, step.dout_gmem);
  launch(fused_kernel<kHeadDim>, grid, kThreads, kBytes, stream, step, access);
}

void enqueue(const BackwardStep& step, float*, cudaStream_t stream) {
  step.head_dim <= 64 ? launch_padded<64>(step, stream) : launch_padded<128>(step, stream);
}

}  // namespace

const BackwardRung kFusedBackward{.number = 4,
                                  .name = "fused",
                                  .dtype = DType::kBFloat16,
                                  .largest_head_dim = 128,
                                  .workspace = nullptr,
                                  .run = enqueue,
                                  .deterministic = false};

}  // namespace ringcraft::kernels
