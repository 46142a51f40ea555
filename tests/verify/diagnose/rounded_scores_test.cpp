// Claims whose scores were rounded to a 16-bit type before the softmax.
#include <algorithm>
#include <cmath>
#include <random>
#include <string>

#include "support/catch.hpp"
#include "verify/claims/claim.hpp"
#include "verify/oracle/rounding.hpp"
#include "verify/suspects_support.hpp"

namespace ringcraft::verify {
namespace {

using ScoreOf = double (*)(std::span<const double> q, std::span<const double> k, double scale, DType type);

double product_of_rows(std::span<const double> a, std::span<const double> b) {
  double sum = 0;
  for (std::size_t c = 0; c < a.size(); ++c) sum += a[c] * b[c];
  return sum;
}

std::vector<double> times(std::span<const double> row, double factor, DType type) {
  std::vector<double> result(row.begin(), row.end());
  for (double& x : result) x = rounded(x * factor, type);
  return result;
}

// The inputs as they are stored in a type, and judged.
struct RoundedScene {
  Problem problem;
  StoredInputs stored;
  Inputs exact;
  DType type;

  RoundedScene(Problem of, DType stored_as)
      : problem(std::move(of)),
        stored(stored_inputs(
            converted(make_inputs(make_case(problem, Data::kNormal, 3), DType::kFloat64), stored_as), {})),
        exact(converted(stored.inputs, DType::kFloat64)),
        type(stored_as) {}

  // Puts the softmax of these scores into out (unless it stays right) and lse.
  Answer claimed(ScoreOf score_of, DType scores, bool with_out) const {
    Answer claim = oracle(problem, exact).value;
    for_each_row(claim.out.extents(), [&](const RowPlace& row) {
      const Index kv = row.head / problem.shape.group();
      std::vector<double> out(static_cast<std::size_t>(problem.shape.head_dim), 0.0);
      double sum = 0;
      for (Index key = 0; key < problem.shape.seqlen; ++key) {
        if (!visible(problem.mask, row.row, key)) continue;
        const double weight = std::exp(score_of(head_of<double>(exact.q, row.batch, row.head).row(row.row),
                                                head_of<double>(exact.k, row.batch, kv).row(key),
                                                problem.softmax_scale, scores));
        const auto v = head_of<double>(exact.v, row.batch, kv).row(key);
        sum += weight;
        for (std::size_t c = 0; c < out.size(); ++c) out[c] += weight * v[c];
      }
      for (double& x : out) x /= sum;
      put(claim.lse, row, {std::log(sum)});
      if (with_out) put(claim.out, row, out);
    });
    return claim;
  }

  ClaimVerdict judged(Answer claim) const {
    Answer in_type = converted(claim, type);
    in_type.lse = converted(claim.lse, DType::kFloat32);
    return judge_claim({.problem = problem,
                        .stored = stored,
                        .answer = std::move(in_type),
                        .unjudged = {},
                        .key_width = problem.shape.head_dim,
                        .value_width = problem.shape.head_dim,
                        .diagnose = {.ranks = Ranks::kKnown}});
  }
};

// "id: sentence" of all causes.
std::string causes_in(const ClaimVerdict& verdict) {
  std::string text;
  for (const ReportRow& row : verdict.report.rows)
    for (const Cause& cause : row.causes) text += cause.id + ": " + cause.sentence + "\n";
  return text;
}

bool begins(const std::string& causes, const std::string& words) {
  UNSCOPED_INFO(causes);
  return causes.starts_with("solved-rounded-scores: " + words);
}

struct ScoreWay {
  const char* words;
  ScoreOf score;
};
const ScoreWay kWays[] = {
    {"before they are scaled, and once more after it",
     [](auto q, auto k, double scale, DType type) {
       return rounded(rounded(product_of_rows(q, k), type) * scale, type);
     }},
    {"before they are scaled;",
     [](auto q, auto k, double scale, DType type) { return rounded(product_of_rows(q, k), type) * scale; }},
    {"once they are scaled;",
     [](auto q, auto k, double scale, DType type) { return rounded(product_of_rows(q, k) * scale, type); }},
    {"as is q once it is scaled",
     [](auto q, auto k, double scale, DType type) {
       return rounded(product_of_rows(times(q, scale, type), k), type);
     }},
    {"each times the root of the scale",
     [](auto q, auto k, double scale, DType type) {
       return rounded(product_of_rows(times(q, std::sqrt(scale), type), times(k, std::sqrt(scale), type)),
                      type);
     }},
};

Problem three_ranks(Index seqlen, Index head_dim) {
  return make_problem({1, 4, 2, seqlen, head_dim}, causal_mask(), Layout::kZigzag, 3);
}

}  // namespace

TEST_CASE("an lse of scores in a half type is told, with the place where they were rounded") {
  for (const DType type : {DType::kBFloat16, DType::kFloat16}) {
    const RoundedScene scene(three_ranks(42, 24), type);
    CHECK(scene.judged(oracle(scene.problem, scene.exact).value).good);
    for (const ScoreWay& way : kWays) {
      CAPTURE(name_of(type), way.words);
      const ClaimVerdict verdict = scene.judged(scene.claimed(way.score, type, false));
      CHECK_FALSE(verdict.good);
      const std::string causes = causes_in(verdict);
      CHECK(begins(causes, "the scores are rounded to " + std::string(name_of(type))));
      CHECK(causes.find(way.words) != std::string::npos);
    }
  }
}

TEST_CASE("out of scores in a half type is told of a claim in float32") {
  const RoundedScene scene(three_ranks(42, 24), DType::kFloat32);
  for (const DType type : {DType::kBFloat16, DType::kFloat16})
    for (const bool operands : {false, true}) {
      CAPTURE(name_of(type), operands);
      const ScoreOf score = operands ? ScoreOf([](auto q, auto k, double scale, DType to) {
        return rounded(product_of_rows(times(q, 1, to), times(k, 1, to)) * scale, to);
      })
                                     : kWays[2].score;
      Answer claim = scene.claimed(score, type, true);
      claim.dq = {}, claim.dk = {}, claim.dv = {};
      const std::string causes = causes_in(scene.judged(std::move(claim)));
      CHECK(begins(causes, std::string(operands ? "q, k and " : "") + "the scores are rounded to " +
                               std::string(name_of(type))));
    }
}

TEST_CASE("an lse that is off as much as by rounded scores, but not by them, has no such cause") {
  const RoundedScene scene(three_ranks(42, 24), DType::kBFloat16);
  Answer claim = oracle(scene.problem, scene.exact).value;
  std::mt19937 random(5);
  std::uniform_real_distribution<double> off(-4e-3, 4e-3);
  for (double& x : claim.lse.values<double>()) x += off(random);
  const ClaimVerdict verdict = scene.judged(std::move(claim));
  CHECK_FALSE(verdict.good);
  CHECK(causes_in(verdict).find("solved-rounded-scores") == std::string::npos);
}

TEST_CASE("a sum that hardly shows tells no factor of its logarithm") {
  Scene scene(make_problem({1, 8, 2, 2, 24}, causal_mask(), Layout::kContiguous, 1));
  const Problem& problem = scene.c.problem;
  for (Index head = 0; head < 8; ++head) {  // key 0 is far above key 1: by 23, and by 2300 but for head 0
    const auto k = head_of<double>(scene.inputs.k, 0, head / problem.shape.group());
    std::vector<double> apart(24);
    for (std::size_t c = 0; c < apart.size(); ++c) apart[c] = k.row(0)[c] - k.row(1)[c];
    const double factor = (head == 0 ? 23 : 2300) / (product_of_rows(apart, apart) * problem.softmax_scale);
    for (double& x : apart) x *= factor;
    put(scene.inputs.q, {0, head, 1}, apart);
  }
  scene.right = oracle(problem, scene.inputs);
  Answer claim = clone(scene.right.value);
  put(claim.lse, {0, 0, 1}, {claim.lse.values<double>()[1] + 1e-7});
  for (const Cause& cause : scene.of(claim).forward) CHECK(cause.id != "solved-lse");
}

}  // namespace ringcraft::verify
