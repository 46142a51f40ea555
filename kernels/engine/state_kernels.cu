// Defines the small kernels around attention: one thread per number, or one warp per row where a row is
// summed. Offsets are 64 bits wide: a shard may hold more than 2^31 numbers.
#include <cmath>
#include <cstdint>

#include "engine/launch.cuh"
#include "engine/numbers16.cuh"
#include "engine/state_kernels.hpp"

namespace ringcraft::kernels {
namespace {

constexpr int kThreads = 256;
constexpr int kWarp = 32;

__device__ Index global_thread() { return Index{blockIdx.x} * kThreads + threadIdx.x; }

// Thread blocks for this many threads.
unsigned blocks_for(Index threads) { return static_cast<unsigned>((threads + kThreads - 1) / kThreads); }

__global__ void fill_kernel(float* x_gmem, Index count, float value) {
  const Index i = global_thread();
  if (i < count) x_gmem[i] = value;
}

// One thread per element of out; the first of each row also writes the lse. None reads what another writes.
__global__ void finish_kernel(float* out_gmem, float* max_gmem, const float* sum_gmem, Index rows,
                              Index head_dim) {
  const Index i = global_thread();
  if (i >= rows * head_dim) return;
  const Index row = i / head_dim;
  const float l = sum_gmem[row];
  if (l == 0) return;  // no key: O is 0 and m is -inf already
  out_gmem[i] /= l;
  if (i % head_dim == 0) max_gmem[row] += logf(l);
}

__device__ float as_float(float x) { return x; }
__device__ float as_float(Bf16 x) { return widened(x); }

// One warp per row. T: the number type of dout.
template <class T>
__global__ void delta_kernel(const float* out_gmem, const T* dout_gmem, float* delta_gmem, Index rows,
                             Index head_dim) {
  const Index row = global_thread() / kWarp;
  if (row >= rows) return;  // the whole warp
  const int lane = int(threadIdx.x) % kWarp;
  float sum = 0;
  for (Index d = lane; d < head_dim; d += kWarp)
    sum += out_gmem[row * head_dim + d] * as_float(dout_gmem[row * head_dim + d]);
  for (int distance = kWarp / 2; distance > 0; distance /= 2)
    sum += __shfl_xor_sync(0xffffffffu, sum, distance);
  if (lane == 0) delta_gmem[row] = sum;
}

__global__ void add_kernel(float* into_gmem, const float* from_gmem, Index count) {
  const Index i = global_thread();
  if (i < count) into_gmem[i] += from_gmem[i];
}

// One thread per number of 16 bits, neighbours along a row.
__global__ void copy_rows_kernel(std::uint16_t* to_gmem, CopiedTensor to, const std::uint16_t* from_gmem,
                                 CopiedTensor from, Index heads, const int* from_rows_gmem,
                                 const int* to_rows_gmem, Index count, Index width, Index all) {
  const Index i = global_thread();
  if (i >= all) return;
  const Index column = i % width, row = i / width % count, head = i / width / count % heads,
              entry = i / width / count / heads;
  const auto place = [&](const CopiedTensor& tensor, Index at) {
    return ((entry * tensor.heads + tensor.first_head + head) * tensor.rows + at) * width + column;
  };
  to_gmem[place(to, to_rows_gmem[row])] = from_gmem[place(from, from_rows_gmem[row])];
}

}  // namespace

void fill(float* x_gmem, Index count, float value, cudaStream_t stream) {
  if (count == 0) return;
  launch(fill_kernel, blocks_for(count), kThreads, 0, stream, x_gmem, count, value);
}

void finish_rows(float* out_gmem, float* max_gmem, const float* sum_gmem, Index rows, Index head_dim,
                 cudaStream_t stream) {
  if (rows == 0) return;
  launch(finish_kernel, blocks_for(rows * head_dim), kThreads, 0, stream, out_gmem, max_gmem, sum_gmem, rows,
         head_dim);
}

void row_delta(const float* out_gmem, const void* dout_gmem, DType dout_type, float* delta_gmem, Index rows,
               Index head_dim, cudaStream_t stream) {
  if (rows == 0) return;
  const auto enqueue = [&]<class T>(const T* numbers_gmem) {
    launch(delta_kernel<T>, blocks_for(rows * kWarp), kThreads, 0, stream, out_gmem, numbers_gmem, delta_gmem,
           rows, head_dim);
  };
  if (dout_type == DType::kFloat32) return enqueue(static_cast<const float*>(dout_gmem));
  if (dout_type == DType::kBFloat16) return enqueue(static_cast<const Bf16*>(dout_gmem));
  throw Error("row_delta", "dout in float32 or bfloat16", std::string(name_of(dout_type)), "convert it");
}

void add(float* into_gmem, const float* from_gmem, Index count, cudaStream_t stream) {
  if (count == 0) return;
  launch(add_kernel, blocks_for(count), kThreads, 0, stream, into_gmem, from_gmem, count);
}

void copy_rows(void* to_gmem, CopiedTensor to, const void* from_gmem, CopiedTensor from, Index batch,
               Index heads, const int* from_rows_gmem, const int* to_rows_gmem, Index count, Index row_bytes,
               cudaStream_t stream) {
  const Index width = row_bytes / Index{sizeof(std::uint16_t)}, all = batch * heads * count * width;
  if (all == 0) return;
  launch(copy_rows_kernel, blocks_for(all), kThreads, 0, stream, static_cast<std::uint16_t*>(to_gmem), to,
         static_cast<const std::uint16_t*>(from_gmem), from, heads, from_rows_gmem, to_rows_gmem, count,
         width, all);
}

}  // namespace ringcraft::kernels
