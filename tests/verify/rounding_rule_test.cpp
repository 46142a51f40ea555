// The rule for rounded answers: it takes ordinary rounding, and nothing that is wrong, however little.
#include "verify/oracle/rounding_rule.hpp"

#include <cmath>
#include <limits>

#include "ringcraft/core/error.hpp"
#include "ringcraft/core/matrix.hpp"
#include "support.hpp"
#include "support/catch.hpp"
#include "verify/oracle/plain_dense.hpp"

namespace ringcraft::verify {
namespace {

constexpr DType kTypes[] = {DType::kFloat32, DType::kBFloat16, DType::kFloat16};

// A right answer in a number type, computed in float32 and rounded once, with the oracle of the same inputs.
struct Judged {
  Case c = small_case({1, 4, 2, 50, 16}, causal_mask(), Layout::kZigzag, 4);
  Rounding rounding;
  Inputs inputs;
  Oracle want;
  Answer right;

  explicit Judged(DType type)
      : rounding(rounding_of(type)),
        inputs(converted(make_inputs(c, type), DType::kFloat32)),
        want(oracle(c.problem, inputs, {.rounding = rounding})),
        right(converted(plain_dense<float>(c.problem, inputs), DType::kFloat32)) {
    for (const auto& [name, tensor] : named(right))
      if (name != "lse") tensor = ringcraft::converted(ringcraft::converted(tensor, type), DType::kFloat32);
  }
  Comparison judge(const Answer& got) const {
    const Sharding ranks = c.problem.sharding();
    return RoundingRule(rounding).add(got, want, Expect::kAll, &ranks);
  }
};

TEST_CASE("plain dense attention keeps the rule in every type") {
  for (const DType type : kTypes) {
    CAPTURE(std::string(name_of(type)));
    const Judged j(type);
    RoundingRule rule(j.rounding);
    CHECK_FALSE(rule.good());  // nothing judged yet
    CHECK(std::isnan(rule.size(0)));
    const Comparison result = rule.add(j.right, j.want);
    CHECK(result.good);
    CHECK(result.yardstick == Yardstick::kDeviation);
    CHECK(rule.good());
    CHECK_FALSE(rule.together());
    CHECK(rule.cases() == 1);
    CHECK(rule.worst_share() > 0.05);
    CHECK(rule.worst_share() < 0.5);
  }
}

TEST_CASE("NaN, infinity and one wrong element of any tensor break the rule") {
  for (const DType type : kTypes)
    for (const float fault :
         {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(), 0.5f})
      for (std::size_t t = 0; t < kAnswerNames.size(); ++t) {
        const Judged j(type);
        Answer got = clone(j.right);
        named(got)[t].tensor.values<float>()[17] += fault;
        RoundingRule rule(j.rounding);
        const Comparison result = rule.add(got, j.want);
        INFO(name_of(type) << ", " << kAnswerNames[t] << " with fault " << fault);
        CHECK_FALSE(result.good);
        CHECK(result.wrong == 1);
        CHECK(result.tensors[t].wrong_rows.size() == 1);
        CHECK(rule.broken() == 1);
        CHECK(rule.worst_share() > 1);
        CHECK_FALSE(rule.good());
      }
}

TEST_CASE("a factor that no element shows is found in the tensor, and named") {
  for (const DType type : kTypes)
    for (const auto& [name, t] : {std::pair{"out", 0}, {"dq", 2}, {"dk", 3}, {"dv", 4}}) {
      const Judged j(type);
      Answer got = clone(j.right);
      const double factor = 1 + 3 * j.rounding.unit + 60 * (type == DType::kFloat32) * j.rounding.unit;
      for (float& x : named(got)[static_cast<std::size_t>(t)].tensor.values<float>())
        x = static_cast<float>(factor * x);
      const Comparison result = j.judge(got);
      INFO(name_of(type) << ", " << name << " times " << factor);
      CHECK_FALSE(result.good);
      const TensorComparison& tensor = result.tensors[static_cast<std::size_t>(t)];
      REQUIRE_FALSE(tensor.together.empty());
      const auto scaled =
          std::find_if(tensor.together.begin(), tensor.together.end(), [](const GroupFault& f) {
            return f.figure == GroupFault::Figure::kScale && f.group == GroupFault::Group::kTensor;
          });
      REQUIRE(scaled != tensor.together.end());
      CHECK(scaled->value == Approx(factor - 1).margin(0.7 * j.rounding.unit));
      CHECK(described(*scaled).find(std::string(name) + ": the numbers are those of attention times 1 + ") ==
            0);
    }
}

TEST_CASE("errors that each element may have fail if all elements have them") {
  for (const DType type : kTypes) {
    const Judged j(type);
    for (std::size_t t = 0; t < kAnswerNames.size(); ++t) {
      Answer got = converted(j.right, DType::kFloat64);
      const auto values = named(got)[t].tensor.values<double>();
      const auto units = named(j.want.deviation)[t].tensor.values<double>();
      for (std::size_t i = 0; i < values.size(); ++i) values[i] += (i % 2 == 0 ? 4 : -4) * units[i];
      const Comparison result = j.judge(got);
      INFO(name_of(type) << ", " << kAnswerNames[t]);
      CHECK(result.wrong == 0);
      CHECK_FALSE(result.good);
      CHECK_FALSE(result.first);
      REQUIRE_FALSE(result.tensors[t].together.empty());
      CHECK(described(result, j.c.problem.sharding()).find("no element alone is wrong, but together: ") == 0);
      CHECK(described(result, j.c.problem.sharding()).find("times as large as rounding") !=
            std::string::npos);
    }
  }
}

TEST_CASE("one bad row, head and rank are named") {
  const Judged j(DType::kBFloat16);
  const auto units = head_of<double>(j.want.deviation.out, 0, 2);
  const auto shifted_by = [&](double by, auto among) {
    Answer got = converted(j.right, DType::kFloat64);
    const auto out = head_of<double>(got.out, 0, 2);
    for (Index i = 0; i < out.rows; ++i)
      for (Index c = 0; c < out.cols && among(i); ++c) out(i, c) += (c % 2 == 0 ? by : -by) * units(i, c);
    return j.judge(got);
  };
  const auto has = [](const Comparison& result, GroupFault::Group group) {
    return std::any_of(result.tensors[0].together.begin(), result.tensors[0].together.end(),
                       [=](const GroupFault& fault) { return fault.group == group; });
  };
  const Comparison row = shifted_by(9.5, [](Index i) { return i == 31; });
  CHECK(row.wrong == 0);
  CHECK(has(row, GroupFault::Group::kRow));
  CHECK(row.tensors[0].wrong_rows.contains(31));
  CHECK(first_wrong(row, j.c.problem.sharding())->difference.position == 31);
  const Comparison head = shifted_by(4, [](Index) { return true; });
  CHECK(has(head, GroupFault::Group::kHead));
  CHECK_FALSE(has(head, GroupFault::Group::kRow));
  const Sharding ranks = j.c.problem.sharding();
  const Comparison rank = shifted_by(7, [&](Index i) { return ranks.owner_of(i) == 1; });
  CHECK(has(rank, GroupFault::Group::kRank));
}

TEST_CASE("all cases together show what each of them hides") {
  RoundingRule rule(rounding_of(DType::kBFloat16));
  for (int i = 0; i < 40; ++i) {
    const Judged j(DType::kBFloat16);
    Answer got = converted(j.right, DType::kFloat64);
    for (double& x : got.out.values<double>()) x *= 1 + 0.55 * j.rounding.unit;
    CHECK(rule.add(got, j.want).good);
  }
  CHECK(rule.broken() == 0);
  CHECK_FALSE(rule.good());
  CHECK(rule.worst_share() > 1);
  REQUIRE(rule.together());
  CHECK(described(*rule.together())
            .find("out, all cases together: the numbers are those of attention times 1 + ") == 0);
}

TEST_CASE("a precision may not be worse than it is said to be") {
  const Judged j(DType::kFloat32);
  const Inputs narrow = converted(converted(j.inputs, DType::kBFloat16), DType::kFloat32);
  CHECK_FALSE(j.judge(plain_dense<float>(j.c.problem, narrow)).good);
  const Judged half(DType::kFloat16);
  Answer coarse = clone(half.right);
  coarse.out = ringcraft::converted(ringcraft::converted(coarse.out, DType::kBFloat16), DType::kFloat32);
  CHECK_FALSE(half.judge(coarse).good);
}

TEST_CASE("a forward answer is judged by its own tensors") {
  const Judged j(DType::kFloat32);
  Answer got = clone(j.right);
  for (Buffer* gradient : {&got.dq, &got.dk, &got.dv}) *gradient = Buffer();
  RoundingRule rule(j.rounding);
  const Comparison missing = rule.add(got, j.want);
  CHECK_FALSE(missing.good);
  CHECK(missing.complaint.find("dq is missing") == 0);
  CHECK(std::isinf(rule.worst_share()));
  CHECK(RoundingRule(j.rounding).add(got, j.want, Expect::kForward).good);
  got.lse = Buffer();
  CHECK(RoundingRule(j.rounding).add(got, j.want, Expect::kPresent).tensors.size() == 1);
}

TEST_CASE("the rule needs standard deviations, and float64 has none") {
  const Judged j(DType::kFloat32);
  CHECK_THROWS_AS(RoundingRule(j.rounding).add(j.right, oracle(j.c.problem, j.inputs)), Error);
  CHECK_THROWS_AS(rounding_of(DType::kFloat64), Error);
}

}  // namespace
}  // namespace ringcraft::verify
