// The float rule must accept ordinary rounding and nothing worse.
#include <cmath>
#include <limits>

#include "ringcraft/core/error.hpp"
#include "support.hpp"
#include "support/catch.hpp"
#include "verify/compare.hpp"
#include "verify/plain_dense.hpp"

namespace ringcraft::verify {
namespace {

struct Judged {
  Case c = small_case({1, 4, 2, 50, 16}, causal_mask(), Layout::kZigzag, 4);
  Inputs inputs = make_inputs(c, DType::kFloat32);
  Oracle want = oracle(c.problem, inputs);
  Answer dense = plain_dense<float>(c.problem, inputs);
};

TEST_CASE("plain dense attention passes its own rule") {
  const Judged j;
  FloatRule rule(DType::kFloat32);
  CHECK_FALSE(rule.good());  // nothing judged yet
  CHECK(rule.add(j.dense, j.dense, j.want).good);
  CHECK(rule.good());
  CHECK(rule.cases() == 1);
  for (std::size_t t = 0; t < kAnswerNames.size(); ++t) CHECK(rule.rms_ratio(t) == Approx(1.0));
  CHECK(rule.worst_share() > 0);
  CHECK(rule.worst_share() <= 0.5);
}

TEST_CASE("NaN, infinity and a wrong element break the float rule") {
  for (const float fault :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(), 1e-2f})
    for (std::size_t t = 0; t < kAnswerNames.size(); ++t) {
      const Judged j;
      Answer got = clone(j.dense);
      named(got)[t].tensor.values<float>()[17] += fault;
      FloatRule rule(DType::kFloat32);
      const Comparison result = rule.add(got, j.dense, j.want);
      INFO(kAnswerNames[t] << " with fault " << fault);
      CHECK_FALSE(result.good);
      CHECK(result.wrong == 1);
      CHECK(rule.broken() == 1);
      CHECK(rule.worst_share() > 1);
      CHECK_FALSE(rule.good());
    }
}

TEST_CASE("errors that each element may have fail if all elements have them") {
  const Judged j;
  Answer got = clone(j.want.value);  // float64: the rule counts what it is given
  for (std::size_t t = 0; t < kAnswerNames.size(); ++t) {
    const auto values = named(got)[t].tensor.values<double>();
    const auto scales = named(j.want.scale)[t].tensor.values<double>();
    for (std::size_t i = 0; i < values.size(); ++i) values[i] += 4 * 0x1p-23 * scales[i];
  }
  FloatRule rule(DType::kFloat32);
  CHECK(rule.add(got, j.dense, j.want).good);
  CHECK(rule.worst_rms_ratio() > 1.5);
  CHECK_FALSE(rule.good());
}

TEST_CASE("an element may err twice as far as dense attention's worst, and no further") {
  for (const double times : {1.9, 2.2}) {
    const Judged j;
    Answer got = clone(j.want.value);
    for (std::size_t t = 0; t < kAnswerNames.size(); ++t) {
      const auto values = named(got)[t].tensor.values<double>();
      const auto want = named(j.want.value)[t].tensor.values<double>();
      const auto dense = named(j.dense)[t].tensor.values<float>();
      double worst = 0;  // of dense, where the scale is no more than rounding's share of it
      std::size_t where = 0;
      for (std::size_t i = 0; i < values.size(); ++i)
        if (const double error = std::abs(dense[i] - want[i]); error > worst) {
          worst = error;
          where = i;
        }
      const double scale = named(j.want.scale)[t].tensor.values<double>()[where];
      values[where] += times * worst + 8 * 0x1p-24 * scale * (times > 2 ? 2 : 0);
    }
    FloatRule rule(DType::kFloat32);
    INFO(times << " times");
    CHECK(rule.add(got, j.dense, j.want).good == (times < 2));
  }
}

TEST_CASE("weights rounded to bfloat16 fail the float rule") {
  const Judged j;
  const Inputs rounded = converted(converted(j.inputs, DType::kBFloat16), DType::kFloat32);
  FloatRule rule(DType::kFloat32);
  CHECK_FALSE(rule.add(plain_dense<float>(j.c.problem, rounded), j.dense, j.want).good);
}

TEST_CASE("a forward answer is judged by its own tensors") {
  const Judged j;
  Answer got = clone(j.dense);
  for (Buffer* gradient : {&got.dq, &got.dk, &got.dv}) *gradient = Buffer();
  FloatRule rule(DType::kFloat32);
  CHECK_FALSE(rule.add(got, j.dense, j.want).good);
  FloatRule forward(DType::kFloat32);
  CHECK(forward.add(got, j.dense, j.want, Expect::kForward).good);
  CHECK(forward.good());
  CHECK(std::isnan(forward.rms_ratio(2)));
}

TEST_CASE("the float rule needs a precision and a sound yardstick") {
  CHECK_THROWS_AS(FloatRule(DType::kFloat64), Error);
  const Judged j;
  FloatRule rule(DType::kFloat32);
  Answer broken = clone(j.dense);
  broken.dv.values<float>()[0] = std::numeric_limits<float>::quiet_NaN();
  CHECK_THROWS_AS(rule.add(j.dense, broken, j.want), Error);
}

}  // namespace
}  // namespace ringcraft::verify
