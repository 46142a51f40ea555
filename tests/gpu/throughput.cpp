// How fast the forward kernels are (see throughput.hpp).
#include "throughput.hpp"

#include <algorithm>
#include <array>

#include "engine/check.hpp"
#include "engine/cuda_engine.hpp"
#include "ringcraft/core/random.hpp"

namespace ringcraft::kernels {
namespace {

constexpr Index kSeqlen = 8192, kModelWidth = 2048;

// Device time of what `body` enqueues, in ms.
template <class Body>
double milliseconds(const Stream& stream, Body body) {
  cudaEvent_t start, stop;
  RINGCRAFT_CUDA(cudaEventCreate(&start));
  RINGCRAFT_CUDA(cudaEventCreate(&stop));
  RINGCRAFT_CUDA(cudaEventRecord(start, stream.get()));
  body();
  RINGCRAFT_CUDA(cudaEventRecord(stop, stream.get()));
  RINGCRAFT_CUDA(cudaEventSynchronize(stop));
  float elapsed = 0;
  RINGCRAFT_CUDA(cudaEventElapsedTime(&elapsed, start, stop));
  RINGCRAFT_CUDA(cudaEventDestroy(start));
  RINGCRAFT_CUDA(cudaEventDestroy(stop));
  return double{elapsed};
}

Verdict time_forward(Index head_dim, const Mask& mask) {
  CudaEngine engine;
  Random random(1);
  const Extents extents{1, kModelWidth / head_dim, kSeqlen, head_dim};
  const auto normal = [&] {
    return copied_to_device(random_normal(extents, DType::kFloat32, random), engine.stream());
  };
  const Buffer q = normal();
  const KvBlock kv{normal(), normal()};
  const KeyRanges ranges = key_ranges(mask, kSeqlen);
  RowState state = engine.begin(q);
  const auto forward = [&] { engine.forward(state, q, kv, ranges, 0.1); };
  forward();  // the first run loads the kernel

  std::array<double, 10> runs;
  for (double& run : runs) run = milliseconds(engine.stream(), forward);
  std::sort(runs.begin(), runs.end());
  const double median = (runs[4] + runs[5]) / 2;
  const double operations = 4.0 * kModelWidth * static_cast<double>(ranges.pairs());
  return {"", {{"ms", median}, {"TFLOP/s", operations / (1e9 * median)}}};
}

}  // namespace

void time_kernels(Runner& runner) {
  for (const Index head_dim : {64, 128}) {
    const std::string name = "time of 03_online_softmax, 8192 tokens, head_dim " + std::to_string(head_dim);
    runner.check(name + ", full", [&] { return time_forward(head_dim, full_mask()); });
    runner.check(name + ", causal", [&] { return time_forward(head_dim, causal_mask()); });
  }
}

}  // namespace ringcraft::kernels
