// Rung 03: attention in one kernel. The scores of a tile live in registers, become weights by an online
// softmax and meet V at once; the score matrix never reaches global memory. float32, no tensor cores, no
// asynchronous copies.
//
// One launch is one step of a ring: it computes the partial (O, m, l) of its KV block as lesson 105 does, and
// merges it as lesson 104 does into the (O, m, l) that it finds in global memory. If that is the identity (0,
// -inf, 0), the launch is attention on one device, up to the division by l. The mask is two integers per row
// (KeyRanges); the kernel knows no position, no layout and no window.
#include <cmath>
#include <cstddef>

#include "engine/launch.cuh"
#include "engine/vector4.cuh"
#include "forward/forward.hpp"

namespace ringcraft::kernels {
namespace {

// ---- division of work

// A thread block takes 64 query rows of one head and walks over the keys, 64 (or 32) at a time. Each row
// belongs to 16 lanes, half a warp, so that its maximum and its sum are four shuffles without a barrier. A
// thread holds, of each of 8 rows,
//   4 (or 2) scores:     of the keys column, column + 16, column + 32, column + 48;
//   4 or 8 numbers of O: the columns 4 * column to 4 * column + 3 and, above head_dim 64, the same + 64.
constexpr int kThreads = 128;
constexpr int kTile = 64;   // query rows of a tile
constexpr int kLanes = 16;  // lanes that share a row
constexpr int kThreadRows = kTile / (kThreads / kLanes);
template <int kKeys>
constexpr int kThreadKeys = kKeys / kLanes;

// Keys of a tile. Fewer leave more room on an SM, more would spill registers.
using Tiles = TileList<kTile, 64, 32>;

// Strides of rows in shared memory, in floats, so that lanes meet different banks. Lanes read float4 from 16
// neighbouring rows of K: with 4 floats of padding, 8 rows start in the banks 0, 4, ..., 28 and fill all 32.
// The halves of a warp write weights of neighbouring rows: 16 floats of padding give each half its own banks.
template <int kHeadDim>  // head_dim, padded with zeros to 64 or 128
constexpr int kStride = kHeadDim + 4;
template <int kKeys>
constexpr int kWeightStride = kKeys + 16;

template <int kHeadDim, int kKeys>  // q, then K and V in turn, the weights, and two integers per row
constexpr int kSharedBytes = 4 *
                             ((kTile + kKeys) * kStride<kHeadDim> + kTile * kWeightStride<kKeys> + 2 * kTile);
template <int kHeadDim>  // thread blocks that share an SM; with more of them each would spill registers
constexpr int kBlocksPerSm = kHeadDim == 64 ? 3 : 2;
template <int kHeadDim>  // float4 of O per row and thread
constexpr int kThreadVectors = kHeadDim / (4 * kLanes);

// Row i (of kThreadRows) of this thread, counted within the tile. The two halves of a warp take turns.
__device__ int tile_row(int i) { return int(threadIdx.x) / 32 * 16 + int(threadIdx.x) / kLanes % 2 + 2 * i; }
__device__ int lane_column() { return int(threadIdx.x) % kLanes; }

__device__ float row_max(float x) {
  for (int lane = kLanes / 2; lane > 0; lane /= 2) x = fmaxf(x, __shfl_xor_sync(0xffffffffu, x, lane));
  return x;
}

__device__ float row_sum(float x) {
  for (int lane = kLanes / 2; lane > 0; lane /= 2) x += __shfl_xor_sync(0xffffffffu, x, lane);
  return x;
}

// ---- One tile

// q, k and v as this rung takes them.
__device__ const float* numbers(const void* gmem) { return static_cast<const float*>(gmem); }

// Copies `rows` rows of head_dim numbers to shared memory, with zeros up to kRows x kHeadDim: a zero adds
// nothing to a dot product, and a row of V past the last key meets weight 0.
template <int kHeadDim, int kRows>
__device__ void load_tile(float* smem, const float* gmem, int rows, int head_dim, Access access) {
  constexpr int kVectors = kHeadDim / 4;  // neighbouring lanes copy neighbouring float4 of a row
  const int column = int(threadIdx.x) % kVectors * 4;
#pragma unroll 4
  for (int row = int(threadIdx.x) / kVectors; row < kRows; row += kThreads / kVectors) {
    float4 x = {0, 0, 0, 0};
    if (row < rows) x = load4(gmem + row * head_dim, column, head_dim, access);
    *reinterpret_cast<float4*>(smem + row * kStride<kHeadDim> + column) = x;
  }
}

// The partial result of this thread's rows. All 16 lanes of a row have the same m, and each has a share of l.
template <int kHeadDim>
struct Partial {
  float4 out_reg[kThreadRows][kThreadVectors<kHeadDim>];
  float max_reg[kThreadRows], sum_reg[kThreadRows];
};

template <int kHeadDim>
__device__ void set_identity(Partial<kHeadDim>& partial) {
#pragma unroll
  for (int i = 0; i < kThreadRows; ++i) {
    partial.max_reg[i] = -INFINITY;
    partial.sum_reg[i] = 0;
#pragma unroll
    for (float4& out_reg : partial.out_reg[i]) out_reg = {0, 0, 0, 0};
  }
}

// S = q kᵀ. Per four columns, 12 loads feed 128 multiply-adds. The loop is not unrolled, here
// and in P V: its body is long enough, and more of it in flight would spill registers.
template <int kHeadDim, int kKeys>
__device__ void multiply_q_k(const float* q_smem, const float* k_smem,
                             float (&score_reg)[kThreadRows][kThreadKeys<kKeys>]) {
#pragma unroll 1
  for (int d = 0; d < kHeadDim; d += 4) {
    float4 k_reg[kThreadKeys<kKeys>];
#pragma unroll
    for (int j = 0; j < kThreadKeys<kKeys>; ++j)
      k_reg[j] = vector_at(k_smem + (lane_column() + j * kLanes) * kStride<kHeadDim> + d);
#pragma unroll
    for (int i = 0; i < kThreadRows; ++i) {
      const float4 q_reg = vector_at(q_smem + tile_row(i) * kStride<kHeadDim> + d);
#pragma unroll
      for (int j = 0; j < kThreadKeys<kKeys>; ++j) score_reg[i][j] = dot(q_reg, k_reg[j], score_reg[i][j]);
    }
  }
}

// The keys [first, last) of a tile, counted from its first key.
struct Visible {
  int first, last;
  __device__ bool operator()(int key) const { return first <= key && key < last; }
};

// The shift that is subtracted from the exponents of a row with maximum m: m, but 0 while the row has seen no
// key, since -inf - (-inf) is NaN; exp(-inf - 0) = 0 is the weight that such a row needs.
__device__ float subtrahend(float max) { return max == -INFINITY ? 0.0f : max; }

// Online softmax of row i: m' = max(m, S), c = exp(m - m'), P = exp(S - m'), l' = c l + sum P, O' = c O (P V
// follows). A masked weight is 0 because of its place, never because of a score of -inf.
template <int kKeys, int kHeadDim>
__device__ void softmax_row(Partial<kHeadDim>& partial, int i, const float (&score_reg)[kThreadKeys<kKeys>],
                            float softmax_scale, Visible visible, float* p_smem) {
  float largest = -INFINITY;
#pragma unroll
  for (int j = 0; j < kThreadKeys<kKeys>; ++j)
    if (visible(lane_column() + j * kLanes)) largest = fmaxf(largest, softmax_scale * score_reg[j]);
  largest = fmaxf(partial.max_reg[i], row_max(largest));

  const float shift = subtrahend(largest), rescale = expf(partial.max_reg[i] - shift);
  float sum = 0;
#pragma unroll
  for (int j = 0; j < kThreadKeys<kKeys>; ++j) {
    const int key = lane_column() + j * kLanes;
    const float p = visible(key) ? expf(softmax_scale * score_reg[j] - shift) : 0.0f;
    p_smem[tile_row(i) * kWeightStride<kKeys> + key] = p;
    sum += p;
  }
  partial.max_reg[i] = largest;
  partial.sum_reg[i] = rescale * partial.sum_reg[i] + sum;
#pragma unroll
  for (float4& out_reg : partial.out_reg[i]) out_reg = scaled(rescale, out_reg);
}

// O += P V. Per four keys, 8 + 4 * kThreadVectors loads feed 128 * kThreadVectors multiply-adds.
template <int kKeys, int kHeadDim>
__device__ void multiply_p_v(const float* p_smem, const float* v_smem, Partial<kHeadDim>& partial) {
#pragma unroll 1
  for (int key = 0; key < kKeys; key += 4) {
    float4 v_reg[4][kThreadVectors<kHeadDim>];
#pragma unroll
    for (int b = 0; b < 4; ++b)
#pragma unroll
      for (int c = 0; c < kThreadVectors<kHeadDim>; ++c)
        v_reg[b][c] = vector_at(v_smem + (key + b) * kStride<kHeadDim> + 4 * (lane_column() + c * kLanes));
#pragma unroll
    for (int i = 0; i < kThreadRows; ++i) {
      const float4 p_reg = vector_at(p_smem + tile_row(i) * kWeightStride<kKeys> + key);
#pragma unroll
      for (int c = 0; c < kThreadVectors<kHeadDim>; ++c) {
        float4& out_reg = partial.out_reg[i][c];
        out_reg = multiply_add(p_reg.x, v_reg[0][c], out_reg);
        out_reg = multiply_add(p_reg.y, v_reg[1][c], out_reg);
        out_reg = multiply_add(p_reg.z, v_reg[2][c], out_reg);
        out_reg = multiply_add(p_reg.w, v_reg[3][c], out_reg);
      }
    }
  }
}

// ---- Carrying (O, m, l) from step to step

// Merges the partial into the state of `rows` rows; `first` is their first among all rows of all heads. With
// m = max(m_a, m_b): O = exp(m_a - m) O_a + exp(m_b - m) O_b, l likewise. A row that saw no key keeps its
// bits.
template <int kHeadDim>
__device__ void merge_into(const ForwardStep& step, std::ptrdiff_t first, int rows, Access access,
                           const Partial<kHeadDim>& partial) {
#pragma unroll
  for (int i = 0; i < kThreadRows; ++i) {
    // All lanes of a warp take part in shuffles and barriers, also where some of its rows do not exist.
    const bool exists = tile_row(i) < rows;
    const std::ptrdiff_t row = first + tile_row(i);
    const float block_max = partial.max_reg[i], block_sum = row_sum(partial.sum_reg[i]);
    const float old_max = exists ? step.max_gmem[row] : -INFINITY, old_sum = exists ? step.sum_gmem[row] : 0;
    __syncwarp();  // m and l are written below, by one lane, when all 16 have read them
    if (!exists) continue;

    const float largest = fmaxf(old_max, block_max), shift = subtrahend(largest);
    const float weight = expf(old_max - shift), block_weight = expf(block_max - shift);
    float* const out_gmem = step.out_gmem + row * step.head_dim;
#pragma unroll
    for (int c = 0; c < kThreadVectors<kHeadDim>; ++c) {
      const int d = 4 * (lane_column() + c * kLanes);
      const float4 old_out = scaled(weight, load4(out_gmem, d, step.head_dim, access));
      store4(out_gmem, d, step.head_dim, access, multiply_add(block_weight, partial.out_reg[i][c], old_out));
    }
    if (lane_column() == 0) {
      step.max_gmem[row] = largest;
      step.sum_gmem[row] = weight * old_sum + block_weight * block_sum;
    }
  }
}

// ---- The kernel

// Grid: (tiles of rows, heads, batch). K and V of a tile take turns in one piece of shared memory.
template <int kHeadDim, int kKeys>
__global__ void __launch_bounds__(kThreads, kBlocksPerSm<kHeadDim>)
    online_softmax_kernel(const ForwardStep step, Access access) {
  float* const q_smem = dynamic_shared<float>();              // [kTile][kStride]
  float* const kv_smem = q_smem + kTile * kStride<kHeadDim>;  // [kKeys][kStride]
  float* const p_smem = kv_smem + kKeys * kStride<kHeadDim>;  // [kTile][kWeightStride]
  int* const begin_smem = reinterpret_cast<int*>(p_smem + kTile * kWeightStride<kKeys>);  // [kTile]
  int* const end_smem = begin_smem + kTile;                                               // [kTile]

  // begin and end never decrease, so the first and the last row decide for the whole tile (see
  // KeyRanges::tile). A tile of keys is empty unless it meets [begin of the first row, end of the last row):
  // the loop visits no other.
  const int row0 = int(blockIdx.x) * kTile, rows = min(kTile, step.rows - row0), last_row = row0 + rows - 1;
  const int begin_first = step.begin_gmem[row0], begin_last = step.begin_gmem[last_row];
  const int end_first = step.end_gmem[row0], end_last = step.end_gmem[last_row];
  if (begin_first >= end_last) return;

  const int kv_heads = step.kv_heads, group = step.heads / kv_heads;
  const std::ptrdiff_t head = std::ptrdiff_t{blockIdx.z} * step.heads + blockIdx.y;
  const std::ptrdiff_t kv_head = std::ptrdiff_t{blockIdx.z} * kv_heads + int(blockIdx.y) / group;
  const std::ptrdiff_t first_row = head * step.rows + row0, first_key = kv_head * step.keys;

  if (threadIdx.x < kTile) {
    const int row =
        min(row0 + int(threadIdx.x), last_row);  // a row that is not there does as the last one does
    begin_smem[threadIdx.x] = step.begin_gmem[row];
    end_smem[threadIdx.x] = step.end_gmem[row];
  }
  load_tile<kHeadDim, kTile>(q_smem, numbers(step.q_gmem) + first_row * step.head_dim, rows, step.head_dim,
                             access);
  Partial<kHeadDim> partial;
  set_identity(partial);

  for (int key0 = begin_first / kKeys * kKeys; key0 < end_last; key0 += kKeys) {
    const float* const k_gmem = numbers(step.k_gmem) + (first_key + key0) * step.head_dim;
    const float* const v_gmem = numbers(step.v_gmem) + (first_key + key0) * step.head_dim;
    const int keys = step.keys - key0;  // those of this tile are fewer or more than kKeys

    __syncthreads();  // all have read V of the tile before
    load_tile<kHeadDim, kKeys>(kv_smem, k_gmem, keys, step.head_dim, access);
    __syncthreads();  // all have written K and, the first time, Q and the ranges
    float score_reg[kThreadRows][kThreadKeys<kKeys>] = {};
    multiply_q_k<kHeadDim, kKeys>(q_smem, kv_smem, score_reg);

    // In a full tile every row sees every key. One that extends past the last key is never full: end <= keys.
    const bool full = begin_last <= key0 && key0 + kKeys <= end_first;
#pragma unroll
    for (int i = 0; i < kThreadRows; ++i) {
      Visible visible{0, kKeys};
      if (!full) visible = {begin_smem[tile_row(i)] - key0, end_smem[tile_row(i)] - key0};
      softmax_row<kKeys>(partial, i, score_reg[i], step.softmax_scale, visible, p_smem);
    }

    __syncthreads();  // all have read K
    load_tile<kHeadDim, kKeys>(kv_smem, v_gmem, keys, step.head_dim, access);
    __syncthreads();  // all have written V and the weights
    multiply_p_v<kKeys>(p_smem, kv_smem, partial);
  }
  merge_into(step, first_row, rows, access, partial);
}

// ---- The launch

template <int kHeadDim, int kKeys>
void launch_tiled(const ForwardStep& step, cudaStream_t stream) {
  constexpr int kBytes = kSharedBytes<kHeadDim, kKeys>;  // mostly more than a kernel gets by default
  const auto kernel = online_softmax_kernel<kHeadDim, kKeys>;
  RINGCRAFT_CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kBytes));
  const dim3 grid((unsigned(step.rows) + kTile - 1) / kTile, unsigned(step.heads), unsigned(step.batch));
  const Access access =
      access_for(step.head_dim * sizeof(float), step.q_gmem, step.k_gmem, step.v_gmem, step.out_gmem);
  launch(kernel, grid, kThreads, kBytes, stream, step, access);
}

void enqueue(const ForwardStep& step, float*, cudaStream_t stream) {
  Tiles::choose(step.tile, [&]<int kKeys>() {
    step.head_dim <= 64 ? launch_tiled<64, kKeys>(step, stream) : launch_tiled<128, kKeys>(step, stream);
  });
}

std::span<const TileSize> tiles(int) { return Tiles::kSizes; }

}  // namespace

const ForwardRung kOnlineSoftmax{.number = 3,
                                 .name = "online softmax",
                                 .dtype = DType::kFloat32,
                                 .largest_head_dim = 128,
                                 .workspace = nullptr,
                                 .run = enqueue,
                                 .tiles = tiles};

}  // namespace ringcraft::kernels
