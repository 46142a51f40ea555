// Lesson 206, backward rung 02: two kernels on tiles in shared memory. P and dS exist a tile at a time and
// are computed twice, once for dq and once for dk and dv; in return no score matrix reaches global memory,
// and no two thread blocks add to the same number: no atomics, and the same bits in every run. float32, no
// tensor cores.
//
// Division of work: a thread block of `dq` takes 32 query rows of one head and walks over the keys that they
// see, 32 at a time. A thread block of `dkdv` takes 32 keys of one KV head and walks over the rows that see
// them, of one query head of the group after the other. Apart from that they are mirror images: "own" rows
// stay, "other" rows pass by. The mask is two integers per own row, KeyRanges or their transpose.
//
// Weaknesses: seven products of tiles where five would do, since S and dP are computed in both kernels; and
// float32 multiply-adds where tensor cores have ten times as many.
#include <cmath>

#include "backward/backward.hpp"
#include "engine/launch.cuh"
#include "engine/vector4.cuh"

namespace ringcraft::kernels {
namespace {

// ---- division of work

// Each own row belongs to 8 lanes of one warp. A thread holds, of each of 2 own rows,
//   4 scores, and as many dP: of the other rows column, column + 8, column + 16, column + 24;
//   8 or 16 numbers of a gradient: the columns 4 * column to 4 * column + 3, the same + 32, + 64, + 96.
constexpr int kThreads = 128;
constexpr int kTile = 32;  // own rows of a tile, and other rows
constexpr int kLanes = 8;  // that share an own row
constexpr int kThreadOwn = kTile / (kThreads / kLanes);
constexpr int kThreadOther = kTile / kLanes;

// Strides of rows in shared memory, in floats, so that lanes meet different banks: float4 of 8 neighbouring
// rows start in the banks 0, 4, ..., 28, and 8 neighbouring weights of each of a warp's 4 rows fill all 32.
template <int kHeadDim>  // head_dim, padded with zeros to 64 or 128
constexpr int kStride = kHeadDim + 4;
constexpr int kWeightStride = kTile + 8;

template <int kHeadDim>
constexpr int kTileFloats = kTile* kStride<kHeadDim>;
template <int kHeadDim>  // float4 of a gradient per own row and thread
constexpr int kThreadVectors = kHeadDim / (4 * kLanes);
template <int kHeadDim>  // thread blocks that share an SM: what its shared memory holds
constexpr int kBlocksPerSm = kHeadDim == 64 ? 3 : 2;
template <int kHeadDim>  // four tiles, and `weights` tiles of P or dS
constexpr int shared_bytes(int weights) {
  return 4 * (4 * kTileFloats<kHeadDim> + weights * kTile * kWeightStride);
}

// Own row i (of kThreadOwn) and other row j (of kThreadOther) of this thread, counted within their tiles.
__device__ int own_row(int i) { return int(threadIdx.x) / kLanes + i * (kTile / kThreadOwn); }
__device__ int lane_column() { return int(threadIdx.x) % kLanes; }
__device__ int other_row(int j) { return lane_column() + j * kLanes; }

// ---- Tiles

__device__ const float* floats(const void* gmem) { return static_cast<const float*>(gmem); }

// Copies `rows` rows of head_dim numbers to shared memory, with zeros up to 32 x kHeadDim: a zero adds
// nothing to a product.
template <int kHeadDim>
__device__ void load_tile(float* smem, const float* gmem, int rows, int head_dim, Access access) {
  constexpr int kVectors = kHeadDim / 4;  // neighbouring lanes copy neighbouring float4 of a row
  const int column = int(threadIdx.x) % kVectors * 4;
#pragma unroll 4
  for (int row = int(threadIdx.x) / kVectors; row < kTile; row += kThreads / kVectors) {
    float4 x = {0, 0, 0, 0};
    if (row < rows) x = load4(gmem + Index{row} * head_dim, column, head_dim, access);
    *reinterpret_cast<float4*>(smem + row * kStride<kHeadDim> + column) = x;
  }
}

// own otherᵀ: per four columns, 6 loads feed 32 multiply-adds.
template <int kHeadDim>
__device__ void multiply_transposed(const float* own_smem, const float* other_smem,
                                    float (&sum_reg)[kThreadOwn][kThreadOther]) {
#pragma unroll 2
  for (int d = 0; d < kHeadDim; d += 4) {
    float4 other_reg[kThreadOther];
#pragma unroll
    for (int j = 0; j < kThreadOther; ++j)
      other_reg[j] = vector_at(other_smem + other_row(j) * kStride<kHeadDim> + d);
#pragma unroll
    for (int i = 0; i < kThreadOwn; ++i) {
      const float4 own_reg = vector_at(own_smem + own_row(i) * kStride<kHeadDim> + d);
#pragma unroll
      for (int j = 0; j < kThreadOther; ++j) sum_reg[i][j] = dot(own_reg, other_reg[j], sum_reg[i][j]);
    }
  }
}

// A gradient of this thread's own rows.
template <int kHeadDim>
struct Gradient {
  float4 reg[kThreadOwn][kThreadVectors<kHeadDim>];
};

// gradient += weights other: per four other rows, 2 + 4 * kThreadVectors loads feed 32 * kThreadVectors
// multiply-adds.
template <int kHeadDim>
__device__ void add_weighted(Gradient<kHeadDim>& gradient, const float* weight_smem,
                             const float* other_smem) {
#pragma unroll 1
  for (int row = 0; row < kTile; row += 4) {
    float4 weight_reg[kThreadOwn];
#pragma unroll
    for (int i = 0; i < kThreadOwn; ++i)
      weight_reg[i] = vector_at(weight_smem + own_row(i) * kWeightStride + row);
#pragma unroll
    for (int c = 0; c < kThreadVectors<kHeadDim>; ++c) {
      const float* const column_smem =
          other_smem + row * kStride<kHeadDim> + 4 * (lane_column() + c * kLanes);
      float4 other_reg[4];
#pragma unroll
      for (int b = 0; b < 4; ++b) other_reg[b] = vector_at(column_smem + b * kStride<kHeadDim>);
#pragma unroll
      for (int i = 0; i < kThreadOwn; ++i) {
        float4& sum_reg = gradient.reg[i][c];
        sum_reg = multiply_add(weight_reg[i].x, other_reg[0], sum_reg);
        sum_reg = multiply_add(weight_reg[i].y, other_reg[1], sum_reg);
        sum_reg = multiply_add(weight_reg[i].z, other_reg[2], sum_reg);
        sum_reg = multiply_add(weight_reg[i].w, other_reg[3], sum_reg);
      }
    }
  }
}

// Adds factor * gradient to the first `rows` rows of a tile in global memory.
template <int kHeadDim>
__device__ void add_to(float* gmem, const Gradient<kHeadDim>& gradient, float factor, int rows, int head_dim,
                       Access access) {
#pragma unroll
  for (int i = 0; i < kThreadOwn; ++i) {
    if (own_row(i) >= rows) continue;
    float* const row_gmem = gmem + Index{own_row(i)} * head_dim;
#pragma unroll
    for (int c = 0; c < kThreadVectors<kHeadDim>; ++c) {
      const int d = 4 * (lane_column() + c * kLanes);
      const float4 old = load4(row_gmem, d, head_dim, access);
      store4(row_gmem, d, head_dim, access, multiply_add(factor, gradient.reg[i][c], old));
    }
  }
}

// The other rows [first, last) that each own row of this thread meets; none for a row that is not there. Both
// ends never decrease from row to row, so the first and the last one decide where the whole tile walks.
struct Visible {
  int first[kThreadOwn], last[kThreadOwn];

  __device__ Visible(const int* begin_gmem, const int* end_gmem, int rows) {
#pragma unroll
    for (int i = 0; i < kThreadOwn; ++i) {
      const bool exists = own_row(i) < rows;
      first[i] = exists ? begin_gmem[own_row(i)] : 0;
      last[i] = exists ? end_gmem[own_row(i)] : 0;
    }
  }
  __device__ bool operator()(int i, int other) const { return first[i] <= other && other < last[i]; }
};

// ---- dq += softmax_scale dS k

// Grid: (tiles of rows, heads, batch). Own rows are queries. Shared memory: four tiles, and one of weights.
template <int kHeadDim>
__global__ void __launch_bounds__(kThreads, kBlocksPerSm<kHeadDim>)
    dq_kernel(const BackwardStep step, Access access) {
  // BEGIN SOLUTION 206 [dq_kernel]
  float* const q_smem = dynamic_shared<float>();  // [kTile][kStride], as are the next three
  float* const dout_smem = q_smem + kTileFloats<kHeadDim>;
  float* const k_smem = dout_smem + kTileFloats<kHeadDim>;
  float* const v_smem = k_smem + kTileFloats<kHeadDim>;
  float* const ds_smem = v_smem + kTileFloats<kHeadDim>;  // [kTile][kWeightStride]

  const int row0 = int(blockIdx.x) * kTile, rows = min(kTile, step.rows - row0), head_dim = step.head_dim;
  const int first_key = step.key_begin_gmem[row0], last_key = step.key_end_gmem[row0 + rows - 1];
  if (first_key >= last_key) return;

  const int group = step.heads / step.kv_heads;
  const Index first_row = (Index{blockIdx.z} * step.heads + blockIdx.y) * step.rows + row0;
  const Index kv_rows = (Index{blockIdx.z} * step.kv_heads + int(blockIdx.y) / group) * step.keys;
  load_tile<kHeadDim>(q_smem, floats(step.q_gmem) + first_row * head_dim, rows, head_dim, access);
  load_tile<kHeadDim>(dout_smem, floats(step.dout_gmem) + first_row * head_dim, rows, head_dim, access);
  const Visible visible(step.key_begin_gmem + row0, step.key_end_gmem + row0, rows);
  float lse_reg[kThreadOwn] = {}, delta_reg[kThreadOwn] = {};
#pragma unroll
  for (int i = 0; i < kThreadOwn; ++i)
    if (own_row(i) < rows) {
      lse_reg[i] = step.lse_gmem[first_row + own_row(i)];
      delta_reg[i] = step.delta_gmem[first_row + own_row(i)];
    }
  Gradient<kHeadDim> dq = {};

  for (int key0 = first_key / kTile * kTile; key0 < last_key; key0 += kTile) {
    const Index first = (kv_rows + key0) * head_dim;
    __syncthreads();  // all have used the tiles before
    load_tile<kHeadDim>(k_smem, floats(step.k_gmem) + first, step.keys - key0, head_dim, access);
    load_tile<kHeadDim>(v_smem, floats(step.v_gmem) + first, step.keys - key0, head_dim, access);
    __syncthreads();  // all have written theirs
    float score_reg[kThreadOwn][kThreadOther] = {}, dp_reg[kThreadOwn][kThreadOther] = {};
    multiply_transposed<kHeadDim>(q_smem, k_smem, score_reg);
    multiply_transposed<kHeadDim>(dout_smem, v_smem, dp_reg);
#pragma unroll
    for (int i = 0; i < kThreadOwn; ++i)
#pragma unroll
      for (int j = 0; j < kThreadOther; ++j) {
        // A masked weight is 0 because of its place: exp may be infinite there, and delta NaN.
        float ds = 0;
        if (visible(i, key0 + other_row(j)))
          ds = expf(step.softmax_scale * score_reg[i][j] - lse_reg[i]) * (dp_reg[i][j] - delta_reg[i]);
        ds_smem[own_row(i) * kWeightStride + other_row(j)] = ds;
      }
    __syncwarp();  // the weights of a row are written and read by the same warp
    add_weighted<kHeadDim>(dq, ds_smem, k_smem);
  }
  add_to<kHeadDim>(step.dq_gmem + first_row * head_dim, dq, step.softmax_scale, rows, head_dim, access);
  // END SOLUTION [dq_kernel]
}

// ---- dk += softmax_scale dSᵀ q, dv += Pᵀ dout

// Grid: (tiles of keys, kv_heads, batch). Own rows are keys. Shared memory: four tiles, and two of weights.
template <int kHeadDim>
__global__ void __launch_bounds__(kThreads, kBlocksPerSm<kHeadDim>)
    dkdv_kernel(const BackwardStep step, Access access) {
  // BEGIN SOLUTION 206 [dkdv_kernel]
  float* const k_smem = dynamic_shared<float>();  // [kTile][kStride], as are the next three
  float* const v_smem = k_smem + kTileFloats<kHeadDim>;
  float* const q_smem = v_smem + kTileFloats<kHeadDim>;
  float* const dout_smem = q_smem + kTileFloats<kHeadDim>;
  float* const p_smem = dout_smem + kTileFloats<kHeadDim>;  // [kTile][kWeightStride]
  float* const ds_smem = p_smem + kTile * kWeightStride;    // [kTile][kWeightStride]

  const int key0 = int(blockIdx.x) * kTile, keys = min(kTile, step.keys - key0), head_dim = step.head_dim;
  const int first_row = step.row_begin_gmem[key0], last_row = step.row_end_gmem[key0 + keys - 1];
  if (first_row >= last_row) return;

  const int group = step.heads / step.kv_heads;
  const Index kv_head = Index{blockIdx.z} * step.kv_heads + blockIdx.y;
  const Index first = (kv_head * step.keys + key0) * head_dim;
  load_tile<kHeadDim>(k_smem, floats(step.k_gmem) + first, keys, head_dim, access);
  load_tile<kHeadDim>(v_smem, floats(step.v_gmem) + first, keys, head_dim, access);
  const Visible visible(step.row_begin_gmem + key0, step.row_end_gmem + key0, keys);
  Gradient<kHeadDim> dk = {}, dv = {};

  for (Index head = kv_head * group; head < (kv_head + 1) * group; ++head)
    for (int row0 = first_row / kTile * kTile; row0 < last_row; row0 += kTile) {
      const Index rows0 = head * step.rows + row0;
      __syncthreads();  // all have used the tiles before
      load_tile<kHeadDim>(q_smem, floats(step.q_gmem) + rows0 * head_dim, step.rows - row0, head_dim, access);
      load_tile<kHeadDim>(dout_smem, floats(step.dout_gmem) + rows0 * head_dim, step.rows - row0, head_dim,
                          access);
      __syncthreads();  // all have written theirs
      float score_reg[kThreadOwn][kThreadOther] = {}, dp_reg[kThreadOwn][kThreadOther] = {};
      multiply_transposed<kHeadDim>(k_smem, q_smem, score_reg);
      multiply_transposed<kHeadDim>(v_smem, dout_smem, dp_reg);
#pragma unroll
      for (int i = 0; i < kThreadOwn; ++i)
#pragma unroll
        for (int j = 0; j < kThreadOther; ++j) {
          float p = 0, ds = 0;
          if (visible(i, row0 + other_row(j))) {
            p = expf(step.softmax_scale * score_reg[i][j] - step.lse_gmem[rows0 + other_row(j)]);
            ds = p * (dp_reg[i][j] - step.delta_gmem[rows0 + other_row(j)]);
          }
          p_smem[own_row(i) * kWeightStride + other_row(j)] = p;
          ds_smem[own_row(i) * kWeightStride + other_row(j)] = ds;
        }
      __syncwarp();  // the weights of a key are written and read by the same warp
      add_weighted<kHeadDim>(dv, p_smem, dout_smem);
      add_weighted<kHeadDim>(dk, ds_smem, q_smem);
    }
  add_to<kHeadDim>(step.dk_gmem + first, dk, step.softmax_scale, keys, head_dim, access);
  add_to<kHeadDim>(step.dv_gmem + first, dv, 1.0f, keys, head_dim, access);
  // END SOLUTION [dkdv_kernel]
}

// ---- The launches

template <int kHeadDim>
void launch_padded(const BackwardStep& step, cudaStream_t stream) {
  const Access access = access_for(step.head_dim * sizeof(float), step.q_gmem, step.k_gmem, step.v_gmem,
                                   step.dout_gmem, step.dq_gmem, step.dk_gmem, step.dv_gmem);
  const auto launch_over = [&](void (*kernel)(const BackwardStep, Access), int rows, int heads, int bytes) {
    RINGCRAFT_CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
    const dim3 grid((unsigned(rows) + kTile - 1) / kTile, unsigned(heads), unsigned(step.batch));
    launch(kernel, grid, kThreads, std::size_t(bytes), stream, step, access);
  };
  launch_over(dq_kernel<kHeadDim>, step.rows, step.heads, shared_bytes<kHeadDim>(1));
  launch_over(dkdv_kernel<kHeadDim>, step.keys, step.kv_heads, shared_bytes<kHeadDim>(2));
}

void enqueue(const BackwardStep& step, float*, cudaStream_t stream) {
  step.head_dim <= 64 ? launch_padded<64>(step, stream) : launch_padded<128>(step, stream);
}

}  // namespace

const BackwardRung kTwoKernels{2, "two kernels", DType::kFloat32, 128, nullptr, enqueue};

}  // namespace ringcraft::kernels
