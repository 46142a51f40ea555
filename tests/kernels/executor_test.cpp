// The executor itself: it keeps CUDA's guarantees, and explains what a kernel must not do. Right kernels
// pass in every order of threads; each fault is found in every order, too.
#include "host/device.hpp"
//
#include <algorithm>
#include <atomic>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "engine/launch.cuh"
#include "support/catch.hpp"
#include "support/errors.hpp"

using namespace ringcraft;
using kernels::dynamic_shared;
using kernels::launch;

namespace {

// Every order of threads that the tests try: forwards, and some that are drawn.
constexpr std::uint64_t kSeeds[] = {0, 1, 2, 3, 7, 1000};

struct WithSettings {
  explicit WithSettings(simt::Settings changed) { simt::settings() = changed; }
  ~WithSettings() { simt::settings() = {}; }
};

int linear_thread() { return int(threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)); }

// ---- Right kernels

__global__ void write_place(int* place) {
  const auto block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
  const int threads = int(blockDim.x * blockDim.y * blockDim.z);
  place[int(block) * threads + linear_thread()] += int(block) * 1000 + linear_thread();
}

// The sum of `count` numbers by halving, one block.
__global__ void sum_by_halves(const int* numbers, int count, int* sum) {
  int* const part = dynamic_shared<int>();
  __shared__ int passes;
  if (threadIdx.x == 0) passes = 0;
  part[threadIdx.x] = int(threadIdx.x) < count ? numbers[threadIdx.x] : 0;
  __syncthreads();
  for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
    if (threadIdx.x == 0) ++passes;
    __syncthreads();
  }
  if (threadIdx.x == 0) *sum = part[0] + 1000 * passes;
}

__global__ void shuffle_all(int* xor_5, int* down_3, int* up_2, int* from_1, int* wide_8, unsigned* ballot) {
  const int i = int(threadIdx.x);
  xor_5[i] = __shfl_xor_sync(0xffffffffu, 10 * i, 5);
  down_3[i] = __shfl_down_sync(0xffffffffu, 10 * i, 3);
  up_2[i] = __shfl_up_sync(0xffffffffu, 10 * i, 2);
  from_1[i] = __shfl_sync(0xffffffffu, 10 * i, 1);
  wide_8[i] = __shfl_down_sync(0xffffffffu, 10 * i, 3, 8);
  ballot[i] = __ballot_sync(0xffffffffu, i % 3 == 0);
}

// Half of each warp takes part; the other half meets it only at the end.
__global__ void shuffle_half(double* out) {
  double x = threadIdx.x;
  if (threadIdx.x % 32 < 16) x += __shfl_xor_sync(0x0000ffffu, x, 1);
  if (threadIdx.x % 32 < 16)
    __syncwarp();  // a warp meets at its mask, at any line of its lanes
  else
    __syncwarp();
  __syncthreads();
  out[threadIdx.x] = x;
}

__global__ void add_one(int* total) { atomicAdd(total, 1); }

__global__ void take_a_number(int* next, int* number) {
  if (threadIdx.x == 0) number[blockIdx.x] = atomicAdd(next, 1);
}

__global__ void throw_in_thread_9() {
  if (threadIdx.x == 9) throw Error("a sentence of thread 9");
  __syncthreads();
}

}  // namespace

TEST_CASE("every thread of every block runs once, at its place") {
  for (const std::uint64_t seed : kSeeds)
    for (const int workers : {1, 2, 5}) {
      const WithSettings set({seed, workers});
      std::vector<int> place(3 * 2 * 2 * 30, 0);
      launch(write_place, dim3(3, 2, 2), dim3(5, 3, 2), 0, nullptr, place.data());
      for (std::size_t i = 0; i < place.size(); ++i) REQUIRE(place[i] == int(i / 30) * 1000 + int(i % 30));
    }
}

TEST_CASE("thread blocks start by their index, or in a random order") {
  const auto numbers = [](std::uint64_t block_seed) {
    const WithSettings set({.workers = 1, .block_seed = block_seed});
    std::vector<int> number(40, -1);
    int next = 0;
    launch(take_a_number, 40, 32, 0, nullptr, &next, number.data());
    return number;
  };
  std::vector<int> by_index(40);
  std::iota(by_index.begin(), by_index.end(), 0);
  CHECK(numbers(0) == by_index);
  CHECK(numbers(1) != by_index);
  CHECK(std::ranges::is_permutation(numbers(1), by_index));
  CHECK(numbers(1) == numbers(1));
  CHECK(numbers(2) != numbers(1));
}

TEST_CASE("a step can be run up to one of its launches") {
  simt::settings().launches = 2;
  int total = 0;
  for (int i = 0; i < 5; ++i) launch(add_one, 1, 32, 0, nullptr, &total);
  CHECK(total == 2 * 32);
  simt::settings() = {};
  launch(add_one, 1, 32, 0, nullptr, &total);
  CHECK(total == 3 * 32);
}

TEST_CASE("barriers order shared memory, in every order of threads") {
  std::vector<int> numbers(100);
  std::iota(numbers.begin(), numbers.end(), 1);
  for (const std::uint64_t seed : kSeeds) {
    const WithSettings set({seed, 1});
    int sum = 0;
    launch(sum_by_halves, 1, 128, 128 * sizeof(int), nullptr, numbers.data(), 100, &sum);
    CHECK(sum == 5050 + 7000);
  }
}

TEST_CASE("shuffles and ballots give what CUDA's do") {
  for (const std::uint64_t seed : kSeeds) {
    const WithSettings set({seed, 1});
    std::vector<int> xor_5(64), down_3(64), up_2(64), from_1(64), wide_8(64);
    std::vector<unsigned> ballot(64);
    launch(shuffle_all, 1, 64, 0, nullptr, xor_5.data(), down_3.data(), up_2.data(), from_1.data(),
           wide_8.data(), ballot.data());
    for (int i = 0; i < 64; ++i) {
      const auto at = static_cast<std::size_t>(i);
      const int lane = i % 32, warp = i - lane;
      CHECK(xor_5[at] == 10 * (warp + (lane ^ 5)));
      CHECK(down_3[at] == 10 * (lane + 3 < 32 ? i + 3 : i));
      CHECK(up_2[at] == 10 * (lane >= 2 ? i - 2 : i));
      CHECK(from_1[at] == 10 * (warp + 1));
      CHECK(wide_8[at] == 10 * (lane % 8 + 3 < 8 ? i + 3 : i));
      unsigned want = 0;
      for (int other = 0; other < 32; ++other) want |= unsigned{(warp + other) % 3 == 0} << other;
      CHECK(ballot[at] == want);
    }
    std::vector<double> half(64);
    launch(shuffle_half, 1, 64, 0, nullptr, half.data());
    for (int i = 0; i < 64; ++i) CHECK(half[static_cast<std::size_t>(i)] == (i % 32 < 16 ? i + (i ^ 1) : i));
  }
}

TEST_CASE("launches of several threads of the operating system do not disturb one another") {
  int total = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&total] {
      for (int turn = 0; turn < 10; ++turn) launch(add_one, 20, 64, 0, nullptr, &total);
    });
  for (std::thread& thread : threads) thread.join();
  CHECK(total == 4 * 10 * 20 * 64);
}

TEST_CASE("an exception of a thread ends the launch, and the next one runs") {
  using ringcraft::testing::contains;
  for (const std::uint64_t seed : kSeeds) {
    const WithSettings set({seed, 2});
    CHECK_THROWS_WITH(launch(throw_in_thread_9, 40, 64, 0, nullptr), "a sentence of thread 9");
    std::vector<int> place(64, 0);
    launch(write_place, 1, 64, 0, nullptr, place.data());
    CHECK(place[63] == 63);
  }
}

// ---- Wrong kernels

namespace {

__global__ void barrier_of_half() {
  if (threadIdx.x < 32) __syncthreads();
}
__global__ void barrier_of_odd() {
  if (threadIdx.x % 2 == 1) __syncthreads();
}
__global__ void two_barriers() {
  if (threadIdx.x < 32)
    __syncthreads();
  else
    __syncthreads();
}
__global__ void early_return() {
  if (threadIdx.x >= 50) return;
  __syncthreads();
}
__global__ void shuffle_in_a_branch(int* out) {
  if (threadIdx.x % 32 < 7) out[threadIdx.x] = __shfl_sync(0xffffffffu, 1, 0);
}
__global__ void shuffle_and_barrier(int* out) {
  if (threadIdx.x % 2 == 0)
    out[threadIdx.x] = __shfl_sync(0xffffffffu, 1, 0);
  else
    __syncthreads();
}
__global__ void two_shuffles(int* out) {
  if (threadIdx.x % 2 == 0)
    out[threadIdx.x] = __shfl_sync(0xffffffffu, 1, 0);
  else
    out[threadIdx.x] = __shfl_sync(0xffffffffu, 2, 0);
}
__global__ void source_outside_mask(int* out) {
  if (threadIdx.x < 16) out[threadIdx.x] = __shfl_sync(0x0000ffffu, 1, 20);
}
__global__ void mask_without_itself(int* out) { out[threadIdx.x] = __shfl_sync(0x0000ffffu, 1, 0); }
__global__ void warp_after_exit() {
  if (threadIdx.x == 3) return;
  __syncwarp();
}
__global__ void different_masks() { __syncwarp(threadIdx.x % 2 == 0 ? 0xffffffffu : 0xaaaaaaaau); }

struct Fault {
  std::string name;
  std::function<void(int*)> launched;
  std::vector<std::string> fragments;
};

const std::vector<Fault> kFaults{
    {"a barrier that half of the threads reach",
     [](int*) { launch(barrier_of_half, 1, 64, 0, nullptr); },
     {"a barrier is reached after threads have left", "out of the kernel: threads 32 to 63",
      "waiting at __syncthreads (executor_test.cpp:"}},
    {"a barrier for odd threads alone",
     [](int*) { launch(barrier_of_odd, 1, 64, 0, nullptr); },
     {"out of the kernel: threads 0, 2, 4, 6, 8, 10 and 26 more;", "threads 1, 3, 5, 7, 9, 11 and 26 more"}},
    {"two barriers where one is meant",
     [](int*) { launch(two_barriers, 1, 64, 0, nullptr); },
     {"threads wait at different barriers", ": threads 0 to 31", ": threads 32 to 63"}},
    {"an early return before a barrier",
     [](int*) { launch(early_return, 1, 64, 0, nullptr); },
     {"out of the kernel: threads 50 to 63", "): threads 0 to 49"}},
    {"a shuffle of all lanes in a branch of some",
     [](int* out) { launch(shuffle_in_a_branch, 1, 32, 0, nullptr, out); },
     {"not all threads go on",
      "waiting for a shuffle of the lanes 0xffffffff (executor_test.cpp:", "): threads 0 to 6"}},
    {"a warp at a shuffle and at a barrier",
     [](int* out) { launch(shuffle_and_barrier, 1, 4, 0, nullptr, out); },
     {"waiting for a shuffle", "): threads 0 and 2", "waiting at __syncthreads", "): threads 1 and 3"}},
    {"lanes at two different shuffles",
     [](int* out) { launch(two_shuffles, 1, 32, 0, nullptr, out); },
     {"not all threads go on", "waiting for a shuffle of the lanes 0xffffffff"}},
    {"a value of a lane that takes no part",
     [](int* out) { launch(source_outside_mask, 1, 32, 0, nullptr, out); },
     {"wants the value of lane 20 in a shuffle", "which takes no part in it"}},
    {"a mask that leaves the caller out",
     [](int* out) { launch(mask_without_itself, 1, 32, 0, nullptr, out); },
     {"with the mask 0x0000ffff, which leaves it out"}},
    {"a warp operation that names a lane that has left",
     [](int*) { launch(warp_after_exit, 1, 32, 0, nullptr); },
     {"out of the kernel: thread 3", "waiting for __syncwarp", "): threads 0 to 2 and 4 to 31"}},
    {"lanes that disagree about the mask",
     [](int*) { launch(different_masks, 1, 32, 0, nullptr); },
     {"not all threads go on", "waiting for __syncwarp of the lanes 0xffffffff"}},
};

std::string said(const Fault& fault) {
  std::vector<int> out(64);
  try {
    fault.launched(out.data());
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing";
}

__global__ void reads_its_neighbour(const int* numbers, int* out) {
  int* const copy = dynamic_shared<int>();
  copy[threadIdx.x] = numbers[threadIdx.x];
  out[threadIdx.x] = copy[(threadIdx.x + 1) % blockDim.x];  // no barrier
}

}  // namespace

TEST_CASE("divergence and broken warp operations are found in every order, and explained") {
  for (const Fault& fault : kFaults)
    for (const std::uint64_t seed : kSeeds) {
      const WithSettings set({seed, 1});
      const std::string sentence = said(fault);
      INFO(fault.name << ", seed " << seed << ": " << sentence);
      for (const std::string& fragment : fault.fragments)
        CHECK(ringcraft::testing::contains(sentence, fragment));
    }
}

TEST_CASE("a missing barrier shows in the values of some order") {
  std::vector<int> numbers(64), out(64), want(64);
  std::iota(numbers.begin(), numbers.end(), 1);
  for (std::size_t i = 0; i < 64; ++i) want[i] = numbers[(i + 1) % 64];
  int wrong = 0;
  for (const std::uint64_t seed : kSeeds) {
    const WithSettings set({seed, 1});
    launch(reads_its_neighbour, 1, 64, 64 * sizeof(int), nullptr, numbers.data(), out.data());
    wrong += out != want ? 1 : 0;
  }
  CHECK(wrong == static_cast<int>(std::size(kSeeds)));  // shared memory begins as no number of the input
}

TEST_CASE("launches that no device would take are refused") {
  CHECK_THROWS_AS(launch(write_place, 1, 1025, 0, nullptr, static_cast<int*>(nullptr)), Error);
  CHECK_THROWS_AS(launch(write_place, 1, 0, 0, nullptr, static_cast<int*>(nullptr)), Error);
  std::vector<int> place(32, 0);
  CHECK_THROWS_WITH(launch(write_place, 1, 32, 49'153, nullptr, place.data()),
                    Catch::Contains("at most 49152 bytes of dynamic shared memory, got 49153"));
  CHECK(cudaFuncSetAttribute(write_place, cudaFuncAttributeMaxDynamicSharedMemorySize, 60'000) ==
        cudaSuccess);
  launch(write_place, 1, 32, 49'153, nullptr, place.data());
  CHECK(cudaFuncSetAttribute(write_place, cudaFuncAttributeMaxDynamicSharedMemorySize, 233'473) ==
        cudaErrorInvalidValue);
}

TEST_CASE("the runtime distinguishes device memory from the host's") {
  void* device = nullptr;
  REQUIRE(cudaMalloc(&device, 100) == cudaSuccess);
  std::vector<char> host(200);
  auto* const bytes = static_cast<char*>(device);
  CHECK(cudaMemcpyAsync(device, host.data(), 100, cudaMemcpyHostToDevice, nullptr) == cudaSuccess);
  CHECK(cudaMemcpyAsync(device, host.data(), 101, cudaMemcpyHostToDevice, nullptr) == cudaErrorInvalidValue);
  CHECK(cudaMemcpyAsync(bytes + 50, host.data(), 51, cudaMemcpyHostToDevice, nullptr) ==
        cudaErrorInvalidValue);
  CHECK(cudaMemcpyAsync(host.data(), device, 100, cudaMemcpyHostToDevice, nullptr) == cudaErrorInvalidValue);
  CHECK(cudaMemcpyAsync(host.data(), bytes + 1, 99, cudaMemcpyDeviceToHost, nullptr) == cudaSuccess);
  CHECK(cudaMemset(device, 1, 101) == cudaErrorInvalidValue);
  CHECK(cudaFree(host.data()) == cudaErrorInvalidValue);
  CHECK(cudaFree(device) == cudaSuccess);
  CHECK(cudaFree(device) == cudaErrorInvalidValue);
  CHECK(cudaSetDevice(1) == cudaErrorInvalidDevice);
}
