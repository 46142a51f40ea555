// judge_claim on tensors in memory: its verdict, its rule, and its progress reports.
#include <nlohmann/json.hpp>

#include "ringcraft/core/error.hpp"
#include "support/catch.hpp"
#include "verify/claims/claim_report.hpp"
#include "verify/support.hpp"

namespace ringcraft::verify {
namespace {

// The right answer to a causal problem on 3 zig-zag ranks.
struct Scene {
  Case asked = small_case({1, 4, 2, 25, 8}, causal_mask(), Layout::kZigzag, 3);
  StoredInputs stored = stored_inputs(make_inputs(asked, DType::kFloat64), {});
  Answer answer = oracle(asked.problem, stored.inputs).value;

  ClaimVerdict judged(std::function<void(JudgingPhase, double)> progress = {},
                      DiagnoseOptions diagnose = {}) const {
    return judge_claim({.problem = asked.problem,
                        .stored = stored,
                        .answer = clone(answer),
                        .unjudged = {},
                        .key_width = 8,
                        .value_width = 8,
                        .title = "theirs",
                        .diagnose = std::move(diagnose),
                        .progress = std::move(progress)});
  }
  void spoil_dk() { head_of<double>(answer.dk, 0, 1)(13, 3) += 0.25; }
};

// The phases of a judgement, each once.
std::vector<JudgingPhase> phases_of(const Scene& scene) {
  std::vector<JudgingPhase> phases;
  double last = 0;
  scene.judged([&](JudgingPhase phase, double share) {
    if (phases.empty() || phases.back() != phase) phases.push_back(phase);
    if (phase != JudgingPhase::kOracle) return;
    CHECK(share >= last);
    CHECK(share <= 1);
    last = share;
  });
  return phases;
}

}  // namespace

TEST_CASE("a judgement reports its phases in order, and looks for a mistake only in a wrong claim") {
  Scene scene;
  CHECK(phases_of(scene) == std::vector{JudgingPhase::kOracle, JudgingPhase::kComparing});
  scene.spoil_dk();
  CHECK(phases_of(scene) ==
        std::vector{JudgingPhase::kOracle, JudgingPhase::kComparing, JudgingPhase::kDiagnosing});
}

TEST_CASE("a right claim in memory is good, and one wrong number in it is found at its rank and row") {
  Scene scene;
  const ClaimVerdict right = scene.judged();
  CHECK(right.good);
  CHECK(right.report.title == "theirs, float64: must be exact to 1e-12 of each element's scale");
  CHECK(right.judged == std::vector<std::string>{"out", "lse", "dq", "dk", "dv"});
  CHECK(nlohmann::json::parse(json_of(right))["first"].is_null());
  scene.spoil_dk();
  const ClaimVerdict wrong = scene.judged();
  const Sharding sharding = scene.asked.problem.sharding();
  CHECK_FALSE(wrong.good);
  CHECK(wrong.wrong == 1);
  const auto first = nlohmann::json::parse(json_of(wrong))["first"];
  CHECK(first["tensor"] == "dk");
  CHECK(first["head"] == 1);
  CHECK(first["position"] == 13);
  CHECK(first["column"] == 3);
  CHECK(first["rank"] == sharding.owner_of(13));
  CHECK(first["row"] == sharding.local_from_global(13));
  CHECK(text_of(wrong, Colour::kPlain).find("rank " + std::to_string(sharding.owner_of(13))) !=
        std::string::npos);
}

TEST_CASE("of rows in other orders only one that is right becomes a remark") {
  Scene scene;
  const Answer right = clone(scene.answer);
  scene.answer.out.values<double>()[5] += 1;
  const auto remarks = [&](std::vector<OtherRows> others) {
    return judge_claim({.problem = scene.asked.problem,
                        .stored = scene.stored,
                        .answer = clone(scene.answer),
                        .unjudged = {},
                        .key_width = 8,
                        .value_width = 8,
                        .others = std::move(others),
                        .diagnose = {}})
        .remarks;
  };
  const OtherRows none{"read none", [] { return Answer(); }};
  const OtherRows same{"read the same", [&] { return clone(scene.answer); }};
  const OtherRows other{"read them right", [&] { return clone(right); }};
  const std::string remark = "right, if you read them right";
  CHECK(std::ranges::count(remarks({none, same}), remark) == 0);
  CHECK(std::ranges::count(remarks({none, same, other}), remark) == 1);
}

TEST_CASE("the search for a mistake can be ended by its caller") {
  Scene scene;
  scene.spoil_dk();
  int polled = 0;
  scene.judged({}, {.poll = [&] { ++polled; }});
  CHECK(polled > 100);
  struct Ended {};
  const auto end = [&] {
    if (--polled == 0) throw Ended();
  };
  CHECK_THROWS_AS(scene.judged({}, {.poll = end}), Ended);
}

TEST_CASE("a claim is judged by its narrowest type, lse apart, or by the narrower one that is said") {
  Scene scene;
  const auto rule = [&](const PrecisionOptions& said) { return rule_for(scene.stored, scene.answer, said); };
  CHECK_FALSE(rule({}).rounding);
  CHECK(rule({.dtype = DType::kBFloat16}).type == DType::kBFloat16);
  scene.answer.lse = converted(scene.answer.lse, DType::kFloat32);
  CHECK(rule({}).type == DType::kFloat64);
  CHECK_THROWS_WITH(rule({.tf32 = true}), Catch::Contains("add --dtype float32"));
  scene.answer.dq = converted(scene.answer.dq, DType::kFloat32);
  CHECK(rule({}).type == DType::kFloat32);
  CHECK(rule({}).wide_inputs);
  CHECK(sentence_of(rule({.tf32 = true})).starts_with("float32 with products in TF32, the inputs rounded"));
  CHECK_THROWS_WITH(rule({.dtype = DType::kFloat64}), Catch::Contains("float32, which the claim is written"));
}

TEST_CASE("a wrong claim in a half type has the same causes, written in that type or in a wider one") {
  const Scene scene;
  const auto causes = [&](const Answer& claim) {
    const ClaimVerdict verdict = judge_claim({.problem = scene.asked.problem,
                                              .stored = scene.stored,
                                              .answer = clone(claim),
                                              .unjudged = {},
                                              .key_width = 8,
                                              .value_width = 8,
                                              .precision = {.dtype = DType::kBFloat16},
                                              .diagnose = {}});
    CHECK_FALSE(verdict.good);
    std::vector<std::string> sentences;
    for (const ReportRow& row : verdict.report.rows)
      for (const Cause& cause : row.causes) sentences.push_back(cause.sentence);
    return sentences;
  };
  for (const double factor : {1.02, 1.03, 1.05, 1.5, -1.0}) {
    CAPTURE(factor);
    Answer wrong = clone(scene.answer);
    for (double& x : wrong.out.values<double>()) x *= factor;
    for (double& x : wrong.dk.values<double>()) x *= factor;
    Answer narrow = converted(wrong, DType::kBFloat16);
    narrow.lse = converted(wrong.lse, DType::kFloat32);
    CHECK(causes(converted(narrow, DType::kFloat32)) == causes(narrow));
  }
}

TEST_CASE("a half type that all numbers of a claim have digits for is noticed") {
  Scene scene;
  CHECK_FALSE(hidden_half_type(scene.answer));
  for (const DType half : {DType::kBFloat16, DType::kFloat16}) {
    const Answer rounded = converted(converted(scene.answer, half), DType::kFloat64);
    CHECK(hidden_half_type(rounded) == half);
  }
}

}  // namespace ringcraft::verify
