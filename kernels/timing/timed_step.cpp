// Runs a step repeatedly and measures each run.
#include "timing/timed_step.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "engine/check.hpp"
#include "engine/launches.hpp"
#include "engine/state_kernels.hpp"
#include "ringcraft/core/random.hpp"

namespace ringcraft::kernels {
namespace {

constexpr std::size_t kMostRuns = 10, kFewestRuns = 3;
constexpr double kWarmUpSeconds = 0.1, kSeconds = 1;

class Clock {
 public:
  bool past(double seconds) const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count() >= seconds;
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

// An event, and the time at which it was reached.
class Instant {
 public:
  Instant() { RINGCRAFT_CUDA(cudaEventCreate(&event_)); }
  ~Instant() { cudaEventDestroy(event_); }
  Instant(const Instant&) = delete;
  Instant& operator=(const Instant&) = delete;

  void record(const Stream& stream) const { RINGCRAFT_CUDA(cudaEventRecord(event_, stream.get())); }
  double milliseconds_since(const Instant& start) const {
    float milliseconds = 0;
    RINGCRAFT_CUDA(cudaEventSynchronize(event_));
    RINGCRAFT_CUDA(cudaEventElapsedTime(&milliseconds, start.event_, event_));
    return milliseconds;
  }

 private:
  cudaEvent_t event_ = nullptr;
};

double median(std::vector<double> values) {
  std::ranges::sort(values);
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

// The median of runs; `prepare` is enqueued before each.
template <class Prepare>
double median_milliseconds(TimedStep& step, Prepare prepare) {
  const Stream& stream = step.engine().stream();
  const Instant start, stop;
  std::vector<double> runs;
  const Clock clock;
  while (runs.size() < kFewestRuns || (runs.size() < kMostRuns && !clock.past(kSeconds))) {
    step.reset();
    prepare();
    start.record(stream);
    step.run();
    stop.record(stream);
    runs.push_back(stop.milliseconds_since(start));
  }
  return median(runs);
}

}  // namespace

StepInputs normal_inputs(const Extents& extents, std::uint64_t seed) {
  Random random(seed);
  const auto normal = [&] { return random_normal(extents, DType::kFloat32, random); };
  StepInputs inputs;
  for (Buffer* tensor : {&inputs.q, &inputs.k, &inputs.v, &inputs.dout}) *tensor = normal();
  return inputs;
}

double operations_of(Pass pass, Index heads, Index head_dim, Index pairs) {
  return (pass == Pass::kForward ? 4.0 : 10.0) * static_cast<double>(heads * head_dim) *
         static_cast<double>(pairs);
}

TimedStep::TimedStep(CudaRungs rungs, Pass pass, const StepInputs& inputs, KeyRanges ranges,
                     double softmax_scale)
    : engine_(0, std::move(rungs)),
      pass_(pass),
      ranges_(std::move(ranges)),
      softmax_scale_(softmax_scale),
      q_(on_device(inputs.q)),
      kv_{on_device(inputs.k), on_device(inputs.v)},
      state_(engine_.begin(q_)) {
  if (pass_ == Pass::kForward) return;
  engine_.forward(state_, q_, kv_, ranges_, softmax_scale_);
  output_ = engine_.finish(std::move(state_));
  dout_ = on_device(inputs.dout);
  delta_ = engine_.delta(output_.out, dout_);
  const auto gradient = [&](const Buffer& of) { return engine_.allocate(of.extents(), Role::kAccumulator); };
  dq_ = gradient(q_);
  dkv_ = {gradient(kv_.k), gradient(kv_.v)};
  reset();
}

Buffer TimedStep::on_device(const Buffer& host) const {
  return copied_to_device(converted(host, engine_.dtype(Role::kElement)), engine_.stream());
}

void TimedStep::reset() {
  if (pass_ == Pass::kForward)
    state_ = engine_.begin(q_);
  else
    engine_.set_zero(dq_);  // dk and dv begin with 0 in every run
}

void TimedStep::run() {
  if (pass_ == Pass::kForward)
    engine_.forward(state_, q_, kv_, ranges_, softmax_scale_);
  else
    engine_.backward(dq_, dkv_, {q_, output_.out, output_.lse, dout_, delta_}, kv_, ranges_, softmax_scale_);
}

const Output& TimedStep::finish() {
  if (pass_ == Pass::kForward) output_ = engine_.finish(std::move(state_));
  return output_;
}

RunTime timed(TimedStep& step) {
  const Stream& stream = step.engine().stream();
  const Index l2_floats = step.engine().device().l2_bytes / static_cast<Index>(sizeof(float));
  Buffer flush({1, 1, 2 * std::max<Index>(l2_floats, 1), 1}, DType::kFloat32, device_memory());
  const Clock clock;
  do {
    step.reset();
    step.run();
    stream.synchronize();
  } while (!clock.past(kWarmUpSeconds));
  return {median_milliseconds(step, [] {}), median_milliseconds(step, [&] {
            fill(device_floats(flush), flush.extents().elements(), 1, stream.get());
          })};
}

std::vector<KernelNeeds> kernels_of(TimedStep& step) {
  std::vector<Launched> launches;
  step.reset();
  launches_seen = &launches;
  try {
    step.run();
  } catch (...) {
    launches_seen = nullptr;
    throw;
  }
  launches_seen = nullptr;
  step.engine().stream().synchronize();
  std::vector<KernelNeeds> kernels;
  for (const Launched& launch : launches) {
    cudaFuncAttributes needs{};
    RINGCRAFT_CUDA(cudaFuncGetAttributes(&needs, launch.kernel));
    kernels.push_back({needs.numRegs, static_cast<Index>(needs.sharedSizeBytes + launch.shared_bytes),
                       static_cast<Index>(needs.localSizeBytes)});
  }
  return kernels;
}

}  // namespace ringcraft::kernels
