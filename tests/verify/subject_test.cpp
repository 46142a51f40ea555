// Subjects beside their answers: they leave the inputs alone, reject problems that they cannot compute, and
// measure the costs that theory predicts.
#include "verify/ladder/subject.hpp"

#include <cstring>

#include "ringcraft/core/error.hpp"
#include "ringcraft/ring/theory.hpp"
#include "support.hpp"
#include "support/catch.hpp"

namespace ringcraft::verify {
namespace {

TEST_CASE("no subject writes its inputs") {
  for (const int n : {1, 2, 3, 5}) {
    const Case c = small_case({1, 4, 2, 23, 4}, causal_mask(), Layout::kZigzag, n);
    for (auto& subject :
         {single_device_subject(Algorithm::kDense), single_device_subject(Algorithm::kBlockwise),
          single_device_subject(Algorithm::kFast), ranks_subject(),
          ranks_subject({.options = {.schedule = Schedule::kForward}})}) {
      const Inputs inputs = make_inputs(c, DType::kFloat64), before = clone(inputs);
      subject->answer(c.problem, inputs);
      for (std::size_t t = 0; t < kInputNames.size(); ++t) {
        const auto now = named(inputs)[t].tensor.bytes(), then = named(before)[t].tensor.bytes();
        INFO(subject->name() << " " << kInputNames[t]);
        CHECK(std::memcmp(now.data(), then.data(), then.size()) == 0);
      }
    }
  }
}

TEST_CASE("without dout there are no gradients") {
  const Case c = small_case({1, 2, 1, 10, 4}, causal_mask(), Layout::kStriped, 3);
  Inputs inputs = make_inputs(c, DType::kFloat32);
  inputs.dout = Buffer();
  for (auto& subject : {single_device_subject(Algorithm::kBlockwise), ranks_subject()}) {
    const Answer answer = subject->answer(c.problem, inputs);
    CHECK(answer.out.extents() == inputs.q.extents());
    CHECK(answer.dq.empty());
    CHECK(answer.dk.empty());
  }
}

TEST_CASE("subjects refuse shapes and types they cannot compute") {
  const Case c = small_case({1, 2, 1, 10, 4}, causal_mask(), Layout::kStriped, 3);
  for (auto& subject : {single_device_subject(Algorithm::kBlockwise), ranks_subject()}) {
    Inputs inputs = make_inputs(c, DType::kFloat32);
    inputs.k = Buffer({1, 2, 10, 4}, DType::kFloat32);
    CHECK_THROWS_AS(subject->answer(c.problem, inputs), Error);
    CHECK_THROWS_AS(subject->answer(c.problem, make_inputs(c, DType::kBFloat16)), Error);
  }
}

TEST_CASE("the costs of a ring are those of theory") {
  const std::vector<Mask> masks{
      full_mask(), causal_mask(), window_mask(5), {.right = 0, .cu_seqlens = {0, 5, 24, 25, 30}}};
  for (const Mask& mask : masks)
    for (const int n : {1, 2, 3, 4, 7})
      for (const Layout layout : kLayouts)
        for (const Schedule schedule : {Schedule::kForward, Schedule::kReversed}) {
          const Case c = small_case({2, 4, 2, 30, 4}, mask, layout, n);
          Measurement cost;
          run_over_ranks(c.problem, make_inputs(c, DType::kFloat32), {.options = {.schedule = schedule}},
                         &cost);
          const Theory forward = forward_theory(c.problem, {4, 4}),
                       backward = backward_theory(c.problem, schedule, {4, 4});
          INFO(c.name << (schedule == Schedule::kForward ? " forward" : " reversed"));
          CHECK(cost.forward.peak_bytes == forward.peak_bytes);
          CHECK(cost.backward.peak_bytes == backward.peak_bytes);
          for (std::size_t r = 0; r < static_cast<std::size_t>(n); ++r) {
            CHECK(cost.forward.traffic[r].bytes_sent == forward.bytes_sent[r]);
            CHECK(cost.backward.traffic[r].bytes_sent == backward.bytes_sent[r]);
            CHECK(cost.forward.work[r].pairs == forward.pairs[r]);
            CHECK(cost.backward.work[r].pairs == backward.pairs[r]);
          }
          CHECK(cost.forward.imbalance() == Approx(forward.imbalance()));
        }
}

TEST_CASE("peak memory and virtual clocks of known problems") {
  const Problem p = make_problem({1, 8, 2, 16, 4}, causal_mask(), Layout::kZigzag, 4);
  Measurement cost;
  run_over_ranks(p, make_inputs(make_case(p, Data::kNormal, 1), DType::kFloat32), {.seconds_per_pair = 1},
                 &cost);
  CHECK(cost.forward.peak() == 4 * 512);
  CHECK(cost.backward.peak() == 4 * 960);
  CHECK(cost.forward.clock == std::vector<double>{34, 34, 34, 34});
  CHECK(cost.backward.longest() == 2.5 * 34);
  CHECK(cost.forward.imbalance() == 0);

  Problem contiguous = p;
  contiguous.layout = Layout::kContiguous;
  run_over_ranks(contiguous, make_inputs(make_case(p, Data::kNormal, 1), DType::kFloat32),
                 {.seconds_per_pair = 1}, &cost);
  CHECK(cost.forward.clock == std::vector<double>{10, 26, 42, 58});
  CHECK(cost.forward.imbalance() == Approx(0.4138).epsilon(1e-3));
}

TEST_CASE("one device is measured as well") {
  const Case c = small_case({1, 2, 1, 64, 4}, causal_mask());
  Measurement dense, blockwise;
  const Inputs inputs = make_inputs(c, DType::kFloat32);
  run_single_device(Algorithm::kDense, c.problem, inputs, {}, &dense);
  run_single_device(Algorithm::kBlockwise, c.problem, inputs, {}, &blockwise);
  CHECK(dense.forward.work[0].pairs == 64 * 65 / 2);
  CHECK(dense.forward.peak() >= 4 * 64 * 64);  // the score matrix
  CHECK(blockwise.forward.peak() < 4 * 64 * 64);
  CHECK(blockwise.forward.bytes_sent() == 0);
  CHECK(blockwise.seconds() > 0);
}

}  // namespace
}  // namespace ringcraft::verify
