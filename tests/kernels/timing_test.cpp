// The clocks of `bench kernels`, on the executor: they measure the right thing. Only a GPU can
// tell times.
#include <cmath>

#include "support/catch.hpp"
#include "timing/peak.hpp"
#include "timing/timed_step.hpp"
#include "verify/oracle/compare.hpp"

using namespace ringcraft;
using namespace ringcraft::kernels;

namespace {

constexpr Index kRows = 70, kHeads = 2, kHeadDim = 33;
const double kScale = 0.25;

// How far a step is from the oracle after `runs` runs of which each but the first follows a reset.
double error_after(const CudaRungs& rungs, Pass pass, int runs) {
  StepInputs numbers = normal_inputs({1, kHeads, kRows, kHeadDim});
  for (Buffer* tensor : {&numbers.q, &numbers.k, &numbers.v, &numbers.dout})
    *tensor = converted(*tensor, rungs.forward->dtype);
  const Problem problem =
      make_problem({1, kHeads, kHeads, kRows, kHeadDim}, causal_mask(), Layout::kContiguous, 1, kScale);
  TimedStep step(rungs, pass, numbers, key_ranges(causal_mask(), kRows), kScale);
  for (int run = 0; run < runs; ++run) {
    if (run > 0) step.reset();
    step.run();
  }
  const auto on_host = [&](const Buffer& tensor) { return copied_to_host(tensor, step.engine().stream()); };
  const Output& output = step.finish();
  verify::Answer answer{on_host(output.out), on_host(output.lse), {}, {}, {}};
  const bool backward = pass == Pass::kBackward;
  if (backward) {
    answer.dq = on_host(step.dq());
    answer.dk = on_host(step.dkv().k);
    answer.dv = on_host(step.dkv().v);
  }
  const verify::Inputs inputs{std::move(numbers.q), std::move(numbers.k), std::move(numbers.v),
                              std::move(numbers.dout)};
  return verify::compare_exact(answer, verify::oracle(problem, inputs),
                               backward ? verify::Expect::kAll : verify::Expect::kForward)
      .worst;
}

Device device(int major, int minor, int multiprocessors, double clock_hz) {
  return {"", major, minor, 0, multiprocessors, clock_hz, 0};
}

}  // namespace

TEST_CASE("a timed step computes attention, however often it was reset and run") {
  for (const int runs : {1, 3}) {
    for (const ForwardRung* rung : forward_rungs())
      CHECK(error_after(rungs_for(*rung), Pass::kForward, runs) <
            (rung->dtype == DType::kFloat32 ? 1e-6 : 8e-3));
    for (const BackwardRung* rung : backward_rungs())
      CHECK(error_after(rungs_for(*rung), Pass::kBackward, runs) <
            (rung->dtype == DType::kFloat32 ? 1e-6 : 8e-3));
  }
}

TEST_CASE(
    "the kernels of a step are those that its rung launches, and what was launched before is not among "
    "them") {
  const StepInputs numbers = normal_inputs({1, kHeads, kRows, kHeadDim});
  const auto kernels = [&](const CudaRungs& rungs, Pass pass) {
    TimedStep step(rungs, pass, numbers, key_ranges(causal_mask(), kRows), kScale);
    return kernels_of(step);
  };
  CHECK(kernels(rungs_for(kNaive), Pass::kForward).size() == 3);
  CHECK(kernels(rungs_for(kNaiveBackward), Pass::kBackward).size() == 3);
  CHECK(kernels(rungs_for(kTensorCoresBackward), Pass::kBackward).size() == 2);
  const auto pipeline = kernels(rungs_for(kPipeline), Pass::kForward);
  REQUIRE(pipeline.size() == 1);
  CHECK(pipeline[0].shared_bytes == 5 * 64 * 64 * 2);  // q, and two stages of K and V
  CHECK(launches_seen == nullptr);
}

TEST_CASE("times are positive, and operations count visible pairs") {
  TimedStep step(rungs_for(kOnlineSoftmax), Pass::kForward, normal_inputs({1, 1, 5, 4}),
                 key_ranges(full_mask(), 5), kScale);
  const RunTime time = timed(step);
  CHECK(time.hot > 0);
  CHECK(time.flushed > 0);
  // Two products forward and five backward, of rows x keys x head_dim; a multiply-add is two operations.
  CHECK(operations_of(Pass::kForward, 16, 128, 8192 * 8192) == 2 * 2 * 16 * 128 * 8192.0 * 8192.0);
  CHECK(operations_of(Pass::kBackward, 3, 5, 7) == 5 * 2 * 3 * 5 * 7);
}

TEST_CASE("peaks are the makers' figures") {
  const auto teraflops = [](const Device& d, DType type) { return peak_rate(d, type) / 1e12; };
  const Device a100 = device(8, 0, 108, 1.41e9), h200 = device(9, 0, 132, 1.83e9);
  CHECK(std::round(teraflops(a100, DType::kBFloat16)) == 312);
  CHECK(teraflops(a100, DType::kFloat32) == Approx(19.5).epsilon(0.01));
  CHECK(std::round(teraflops(h200, DType::kBFloat16)) == 989);
  CHECK(teraflops(device(9, 0, 132, 1.98e9), DType::kFloat32) == Approx(67).epsilon(0.01));
  CHECK(teraflops(device(8, 9, 128, 2.52e9), DType::kBFloat16) == Approx(165.2).epsilon(0.01));
  CHECK(peak_rate(device(7, 0, 80, 1.5e9), DType::kBFloat16) == 0);
}
