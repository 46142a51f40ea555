// Defines kernels with one mistake each: a template argument says whether it is present.
#include "engine/launch.cuh"
#include "engine/ptx.cuh"
#include "planted.hpp"

namespace ringcraft::kernels {
namespace {

__device__ int thread() { return int(threadIdx.x); }
__device__ float* smem() { return dynamic_shared<float>(); }

// ---- Data races in shared memory

template <bool kRight>
__global__ void across_warps(float* gmem) {
  smem()[thread()] = gmem[thread()];  // across write
  if (kRight) __syncthreads();
  gmem[thread()] = smem()[127 - thread()];  // across read
}
template <bool kRight>
__global__ void within_a_warp(float* gmem) {
  smem()[thread()] = gmem[thread()];  // within write
  if (kRight) __syncwarp();
  gmem[thread()] = smem()[thread() ^ 1];  // within read
}
template <bool kRight>
__global__ void written_again(float* gmem) {
  for (int turn = 0; turn < 2; ++turn) {
    smem()[thread()] = gmem[thread()];  // again write
    __syncthreads();
    gmem[thread()] += smem()[127 - thread()];  // again read
    if (kRight) __syncthreads();
  }
}
template <bool kRight>
__global__ void in_a_static_array(float* gmem) {
  __shared__ float corner[4];
  if (thread() == 40) corner[2] = gmem[1];  // static write
  if (kRight) __syncthreads();
  if (thread() == 0) gmem[0] = corner[2];  // static read
}
template <bool kRight>
__global__ void behind_a_shuffle(float* gmem) {
  smem()[thread()] = gmem[thread()];
  const float other = __shfl_xor_sync(0xffffffffu, gmem[thread()], 1);  // orders no memory
  if (kRight) __syncwarp();
  gmem[thread()] = smem()[thread() ^ 1] + other;
}
template <bool kRight>
__global__ void behind_the_barrier_of_a_warp(float* gmem) {
  smem()[thread()] = gmem[thread()];
  if (kRight)
    __syncthreads();
  else
    __syncwarp();
  gmem[thread()] = smem()[thread() ^ 32];
}
template <bool kRight>
__global__ void the_same_number(float* gmem) {
  if (!kRight || thread() == 0) smem()[0] = gmem[0];
}
template <bool kRight>
__global__ void a_plain_sum(float*) {
  auto* const sum = dynamic_shared<int>();
  if (thread() == 0) *sum = 0;
  __syncthreads();
  if (kRight)
    atomicAdd(sum, 1);
  else
    *sum += 1;  // plain sum
}
template <bool kRight>
__global__ void an_atomic_sum_read_early(float* gmem) {
  auto* const sum = dynamic_shared<int>();
  if (thread() == 0) *sum = 0;
  __syncthreads();
  atomicAdd(sum, 1);  // early sum
  if (kRight) __syncthreads();
  if (thread() == 7) gmem[0] = float(*sum);  // early read
}
template <bool kRight>
__global__ void halves_of_a_word(float*) {
  auto* const halves = dynamic_shared<unsigned short>();
  halves[thread()] = static_cast<unsigned short>(thread());  // neighbours share 4 bytes, and that is no race
  if (kRight) __syncthreads();
  if (thread() == 0) dynamic_shared<int>()[5] = 0;  // whole word
}
template <bool kRight>
__global__ void word_then_half(float* gmem) {
  smem()[thread()] = gmem[thread()];  // word first
  if (kRight) __syncthreads();
  const int other = 63 - thread();
  gmem[thread()] = reinterpret_cast<const unsigned short*>(smem())[2 * other + 1];  // half later
}
template <bool kRight>
__global__ void rows_of_ldmatrix(float* gmem) {
  auto* const rows = dynamic_shared<unsigned>();
  for (int i = 0; i < 4; ++i) rows[4 * thread() + i] = 0;  // rows write
  if (kRight) __syncwarp();
  unsigned reg[4];
  ldmatrix_x4(reg, rows + 4 * thread());  // rows read
  gmem[thread()] = float(reg[0]);
}

// ---- Data races in device memory

template <bool kRight>
__global__ void between_blocks(float* gmem) {
  if (thread() == 9) gmem[kRight ? blockIdx.x : 3] = 1;  // blocks write
}
template <bool kRight>
__global__ void read_by_another_block(float* gmem) {
  gmem[256 + 32 * blockIdx.x + threadIdx.x] = gmem[thread()];    // other read
  if (!kRight && blockIdx.x == 2 && thread() == 1) gmem[5] = 0;  // other write
}
template <bool kRight>
__global__ void within_a_block(float* gmem) {
  if (thread() == 0) gmem[0] = 1;  // block write
  if (kRight) __syncthreads();
  gmem[1 + thread()] = gmem[0];  // block read
}

template <bool kRight>
__global__ void sums_of_blocks(float* gmem) {  // as dq of backward rung 04
  if (kRight)
    atomicAdd(gmem + thread(), 1.0f);
  else
    gmem[thread()] += 1.0f;  // blocks sum
}

// ---- Asynchronous copies

template <bool kRight>
__global__ void copy_without_wait(float* gmem) {
  cp_async_16(smem() + 4 * thread(), gmem + 4 * thread(), true);  // unwaited copy
  cp_async_commit();
  if (kRight) cp_async_wait<0>();
  gmem[4 * thread()] = smem()[4 * thread()];  // unwaited read
}
template <bool kRight>
__global__ void copy_without_barrier(float* gmem) {
  cp_async_16(smem() + 4 * thread(), gmem + 4 * thread(), true);
  cp_async_commit();
  cp_async_wait<0>();
  if (kRight) __syncthreads();
  gmem[512 + thread()] = smem()[4 * (thread() ^ 32)];
}
template <bool kRight>
__global__ void wait_behind_the_barrier(float* gmem) {
  cp_async_16(smem() + 4 * thread(), gmem + 4 * thread(), true);
  cp_async_commit();
  if (kRight) cp_async_wait<0>();
  __syncthreads();
  if (!kRight) cp_async_wait<0>();
  gmem[512 + thread()] = smem()[4 * (thread() ^ 32)];
}
template <bool kRight>
__global__ void copy_onto_what_is_read(float* gmem) {
  smem()[thread()] = gmem[thread()];
  __syncthreads();
  gmem[512 + thread()] = smem()[127 - thread()];
  if (kRight) __syncthreads();
  if (thread() < 32) cp_async_16(smem() + 4 * thread(), gmem + 4 * thread(), true);
}

// Two stages, as rung 05 and the backward rungs have them: a tile arrives while the one before is read.
enum class Stages { kRight, kIntoTheOneInUse, kBeforeTheBarrier, kOneTooFew };
template <Stages kHow>
__global__ void stages(float* gmem) {
  const auto start = [&](int stage) {
    cp_async_16(smem() + 256 * stage + 4 * thread(), gmem + 4 * thread(), true);  // stage copy
    cp_async_commit();
  };
  float sum = 0;
  start(0);
  for (int turn = 0; turn < 3; ++turn) {
    const int next = kHow == Stages::kIntoTheOneInUse ? turn % 2 : (turn + 1) % 2;
    cp_async_wait<kHow == Stages::kOneTooFew ? 1 : 0>();
    if (kHow == Stages::kBeforeTheBarrier) start(next);
    __syncthreads();
    if (kHow != Stages::kBeforeTheBarrier) start(next);
    sum += smem()[256 * (turn % 2) + 4 * (thread() ^ 32)];  // stage read
  }
  gmem[512 + thread()] = sum;
}

// ---- Addresses

template <bool kRight>
__global__ void behind_shared_memory(float* gmem) {
  smem()[thread() + (kRight ? 0 : 1)] = gmem[thread()];  // past shared
}
template <bool kRight>
__global__ void before_shared_memory(float* gmem) {
  smem()[thread() - (kRight ? 0 : 1)] = gmem[thread()];
}
template <bool kRight>
__global__ void behind_a_static_array(float* gmem) {
  __shared__ float row[32];
  __shared__ float below[32];
  below[thread()] = 0;
  row[thread() + (kRight ? 0 : 1)] = below[thread()];  // past static
  __syncthreads();
  gmem[thread()] = row[thread()];
}
template <bool kRight>
__global__ void before_a_static_array(float* gmem) {
  __shared__ float row[32];
  __shared__ float second[32];
  row[thread()] = 0;
  second[thread()] = row[thread()];
  __syncthreads();
  gmem[thread()] = second[thread() - (kRight ? 0 : 1)];
}
template <bool kRight>
__global__ void far_behind_a_static_array(float* gmem) {
  __shared__ float rows[8][16];
  for (int r = 0; r < (kRight ? 8 : 9); ++r) rows[r][thread()] = gmem[thread()];  // far past
  gmem[thread()] = rows[7][thread()];
}
template <bool kRight>
__global__ void behind_device_memory(float* gmem) {
  smem()[thread()] = gmem[kPlantedFloats - 32 + thread() + (kRight ? 0 : 1)];  // past device
}
template <bool kRight>
__global__ void vector_across_the_end(float*) {
  if (kRight && thread() == 7) return;  // 120 bytes are seven and a half vectors
  const float4 zeros = {0, 0, 0, 0};
  *reinterpret_cast<float4*>(smem() + 4 * thread()) = zeros;
}
template <bool kRight>
__global__ void crooked_vector(float* gmem) {
  const float4 x = *reinterpret_cast<const float4*>(gmem + 4 * thread() + (kRight ? 0 : 2));  // crooked
  gmem[512 + thread()] = x.x;
}

struct alignas(8) Pair {
  float x, y;
};
struct Four {  // begins anywhere: nvcc loads four numbers
  float x, y, z, w;
};
template <bool kRight>
__global__ void crooked_pair(float* gmem) {
  const Four four = *reinterpret_cast<const Four*>(gmem + 1 + thread());
  const Pair pair = *reinterpret_cast<const Pair*>(gmem + 2 * thread() + (kRight ? 0 : 1));  // crooked pair
  gmem[512 + thread()] = four.w + pair.y;
}
#if defined(__x86_64__)  // where the thread's storage ends here
template <bool kRight>
__global__ void behind_all_static_memory(float* gmem) {
  __shared__ float last[4];
  last[0] = gmem[0];
  if (!kRight)
    gmem[1] = *reinterpret_cast<const float*>(static_cast<const char*>(__builtin_thread_pointer()) + 64);
  gmem[0] = last[0];
}
#endif

// ---- Shared memory that was never written

template <bool kRight>
__global__ void never_written(float* gmem) {
  if (kRight || thread() != 17) smem()[thread()] = 0;
  gmem[thread()] += smem()[thread()];  // unwritten
}
template <bool kRight>
__global__ void written_by_another_block(float* gmem) {
  if (kRight || blockIdx.x == 0) smem()[thread()] = 0;
  gmem[32 * blockIdx.x + threadIdx.x] = smem()[thread()];
}

template <bool kRight>
__global__ void static_never_written(float* gmem) {
  __shared__ float bias[32];
  if (kRight) bias[thread()] = 0;
  gmem[thread()] += bias[thread()];  // static, unwritten
}
template <bool kRight>
__global__ void sum_never_begun(float* gmem) {
  __shared__ float sum;
  if (kRight && thread() == 0) sum = 0;
  __syncthreads();
  atomicAdd(&sum, 1.0f);  // unbegun
  __syncthreads();
  gmem[thread()] = sum;
}

#define RINGCRAFT_PLANTED(kernel) #kernel, kernel < true>, kernel < false>

}  // namespace

const std::vector<Planted>& planted() {
  static const std::vector<Planted> all {
    {RINGCRAFT_PLANTED(across_warps),
     1,
     128,
     512,
     {"data race at byte ", " of dynamic shared memory", "{across write}", "{across read}",
      "no __syncthreads between"}},
        {RINGCRAFT_PLANTED(within_a_warp),
         1,
         32,
         128,
         {"data race", "{within write}", "{within read}", "no __syncthreads or __syncwarp between"}},
        {RINGCRAFT_PLANTED(written_again), 1, 128, 512, {"data race", "{again write}", "{again read}"}},
        {RINGCRAFT_PLANTED(in_a_static_array),
         1,
         64,
         0,
         {"data race at byte 8 of the shared variable corner", "{static write}", "{static read}"}},
        {RINGCRAFT_PLANTED(behind_a_shuffle), 1, 32, 128, {"data race", "no __syncthreads or __syncwarp"}},
        {RINGCRAFT_PLANTED(behind_the_barrier_of_a_warp),
         1,
         64,
         256,
         {"data race", "no __syncthreads between"}},
        {RINGCRAFT_PLANTED(the_same_number), 1, 64, 4, {"data race", " wrote at ", " writes at "}},
        {RINGCRAFT_PLANTED(a_plain_sum), 1, 64, 4, {"data race", "{plain sum}"}},
        {RINGCRAFT_PLANTED(an_atomic_sum_read_early), 1, 64, 4, {"data race", "{early sum}", "{early read}"}},
        {RINGCRAFT_PLANTED(halves_of_a_word),
         1,
         64,
         128,
         {"data race at byte 2", "thread 0 ", "{whole word}", "no __syncthreads or __syncwarp"}},
        {RINGCRAFT_PLANTED(rows_of_ldmatrix), 1, 32, 512, {"data race", "{rows write}", "{rows read}"}},
        {RINGCRAFT_PLANTED(between_blocks),
         5,
         32,
         0,
         {"data race at byte 12 of device memory",
          "thread 9 of thread block (0, 0, 0) wrote at {blocks write}",
          "thread 9 of thread block (1, 0, 0) writes at {blocks write}", "nothing orders the thread blocks"}},
        {RINGCRAFT_PLANTED(read_by_another_block),
         3,
         32,
         0,
         {"data race at byte 20 of device memory", "read at {other read}",
          "thread 1 of thread block (2, 0, 0) writes at {other write}"}},
        {RINGCRAFT_PLANTED(within_a_block), 1, 64, 0, {"data race", "{block write}", "{block read}"}},
        {RINGCRAFT_PLANTED(sums_of_blocks),
         3,
         32,
         0,
         {"data race", "{blocks sum}", "nothing orders the thread blocks"}},
        {RINGCRAFT_PLANTED(copy_without_wait),
         1,
         32,
         512,
         {"reads byte ", "{unwaited read}", "started at {unwaited copy} is still under way",
          "has not waited for it"}},
        {RINGCRAFT_PLANTED(copy_without_barrier), 1, 64, 1024, {"thread ", "planted.cu:"}},
        {RINGCRAFT_PLANTED(wait_behind_the_barrier), 1, 64, 1024, {"thread ", "planted.cu:"}},
        {RINGCRAFT_PLANTED(copy_onto_what_is_read), 1, 128, 512, {"thread ", "planted.cu:"}},
        {"a stage that is copied into while it is read",
         stages<Stages::kRight>,
         stages<Stages::kIntoTheOneInUse>,
         1,
         64,
         2048,
         {"{stage copy}", "{stage read}"}},
        {"a copy that starts before all have read its stage",
         stages<Stages::kRight>,
         stages<Stages::kBeforeTheBarrier>,
         1,
         64,
         2048,
         {"{stage copy}", "{stage read}"}},
        {"a wait that leaves out the group that is read",
         stages<Stages::kRight>,
         stages<Stages::kOneTooFew>,
         1,
         64,
         2048,
         {"{stage copy}", "{stage read}", "is still under way"}},
        {RINGCRAFT_PLANTED(behind_shared_memory),
         1,
         32,
         128,
         {"thread 31 writes 4 bytes at {past shared}, at byte 128 of dynamic shared memory: out of bounds",
          "asked for 128 bytes"}},
        {RINGCRAFT_PLANTED(before_shared_memory), 1, 32, 128, {"thread 0 writes", "at byte -4 of dynamic"}},
        {RINGCRAFT_PLANTED(behind_a_static_array),
         1,
         32,
         0,
         {"thread 31 writes 4 bytes at {past static}, at byte 128 of the shared variable row: out of "
          "bounds, "
          "it has 128 bytes"}},
        {RINGCRAFT_PLANTED(before_a_static_array),
         1,
         32,
         0,
         {"thread 0 reads", "at byte -4 of the shared variable second: out of bounds"}},
        {RINGCRAFT_PLANTED(far_behind_a_static_array),
         1,
         16,
         0,
         {"writes 4 bytes at {far past}, at byte 5",
          " of the shared variable rows: out of bounds, it has 512"}},
        {RINGCRAFT_PLANTED(behind_device_memory),
         1,
         32,
         128,
         {"thread 31 reads 4 bytes at {past device}, at byte 4096 of device memory",
          "4096 bytes): out of bounds"}},
        {RINGCRAFT_PLANTED(vector_across_the_end),
         1,
         8,
         120,
         {"thread 7 writes ", " of dynamic shared memory: out of bounds"}},
        {RINGCRAFT_PLANTED(crooked_vector), 1, 32, 0, {"reads 16 bytes at {crooked}", "a multiple of 16"}},
        {RINGCRAFT_PLANTED(never_written),
         1,
         32,
         128,
         {"thread 17 reads byte 68 of dynamic shared memory at {unwritten}, which no thread of this block "
          "has "
          "written"}},
        {RINGCRAFT_PLANTED(static_never_written),
         1,
         32,
         0,
         {"of the shared variable bias at {static, unwritten}, which no thread of this block has written"}},
        {RINGCRAFT_PLANTED(sum_never_begun),
         1,
         32,
         0,
         {"changes atomically byte 0 of the shared variable sum at ",
          "which no thread of this block has written"}},
        {RINGCRAFT_PLANTED(crooked_pair),
         1,
         32,
         0,
         {"reads 8 bytes at {crooked pair}", "needs an address that is a multiple of 8"}},
#if defined(__x86_64__)
        {RINGCRAFT_PLANTED(behind_all_static_memory),
         1,
         1,
         0,
         {"of the shared variable ", ": out of bounds"}},
#endif
        {RINGCRAFT_PLANTED(word_then_half),
         1,
         64,
         256,
         {"data race at byte ", "{word first}", "{half later}"}},
        {RINGCRAFT_PLANTED(written_by_another_block),
         2,
         32,
         128,
         {"thread block (1, 0, 0): thread ", "which no thread of this block has written"}},
  };
  return all;
}

void launch_planted(const Planted& mistake, PlantedKernel kernel, float* gmem) {
  launch(kernel, mistake.blocks, mistake.threads, mistake.shared_bytes, nullptr, gmem);
}

}  // namespace ringcraft::kernels
