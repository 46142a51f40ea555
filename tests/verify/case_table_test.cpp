// Every implementation over the whole table of cases: in double by the exact rule, in float by the float
// rule. RINGCRAFT_LONG=1 runs the full table.
#include <cstdio>
#include <memory>
#include <vector>

#include "support.hpp"
#include "support/catch.hpp"
#include "verify/ladder/subject.hpp"
#include "verify/oracle/compare.hpp"
#include "verify/oracle/plain_dense.hpp"
#include "verify/oracle/rounding_rule.hpp"

namespace ringcraft::verify {
namespace {

class PlainDense final : public Subject {
 public:
  std::string name() const override { return "plain dense"; }
  Answer answer(const Problem& problem, const Inputs& inputs) override {
    return inputs.q.dtype() == DType::kFloat32 ? plain_dense<float>(problem, inputs)
                                               : plain_dense<double>(problem, inputs);
  }
};

std::vector<std::unique_ptr<Subject>> subjects() {
  std::vector<std::unique_ptr<Subject>> all;
  all.push_back(std::make_unique<PlainDense>());
  all.push_back(single_device_subject(Algorithm::kDense));
  for (const TileSize tile : {TileSize{1, 1}, TileSize{5, 3}, TileSize{16, 8}, TileSize{}})
    all.push_back(single_device_subject(Algorithm::kBlockwise, tile));
  all.push_back(single_device_subject(Algorithm::kFast));
  all.push_back(ranks_subject({.options = {.schedule = Schedule::kReversed}}));
  all.push_back(ranks_subject({.options = {.schedule = Schedule::kForward}, .engine = {.threads = 3}}));
  all.push_back(ranks_subject({.options = {.schedule = Schedule::kReversed},
                               .engine = {.kernel = Kernel::kReadable, .tile = {4, 7}},
                               .board = {.delivery_seed = 11}}));
  all.push_back(ranks_subject({.options = {.schedule = Schedule::kForward},
                               .engine = {.kernel = Kernel::kReadable, .tile = {3, 2}},
                               .board = {.delivery_seed = 12}}));
  return all;
}

TEST_CASE("every implementation is exact in double", "[table]") {
  const std::vector<Case> cases = chosen_cases();
  const auto all = subjects();
  std::vector<double> worst(all.size(), 0);
  Index elements = 0;
  for (const Case& c : cases) {
    const Inputs inputs = make_inputs(c, DType::kFloat64);
    const Oracle want = oracle(c.problem, inputs);
    for (std::size_t s = 0; s < all.size(); ++s) {
      const Comparison result = compare_exact(all[s]->answer(c.problem, inputs), want);
      INFO(all[s]->name() << ", " << c.name << ": " << described(result, c.problem.sharding()));
      CHECK(result.good);
      worst[s] = std::max(worst[s], result.worst);
      elements += result.total;
    }
  }
  std::printf("exact mode, %s table: %zu cases, %lld elements\n", name_of(chosen_set()).c_str(), cases.size(),
              static_cast<long long>(elements));
  for (std::size_t s = 0; s < all.size(); ++s) {
    std::printf("  %-24s largest error / scale %.2e\n", all[s]->name().c_str(), worst[s]);
    CHECK(worst[s] <= 3e-15);  // the tolerance is 1e-12; correct code stays far below it
  }
  CHECK(elements > 1000000);
}

TEST_CASE("every implementation keeps the rule for float32", "[table]") {
  const std::vector<Case> cases = chosen_cases();
  const auto all = subjects();
  const Rounding rounding = rounding_of(DType::kFloat32);
  std::vector<RoundingRule> rules(all.size(), RoundingRule(rounding));
  for (const Case& c : cases) {
    const Inputs inputs = make_inputs(c, DType::kFloat32);
    const Oracle want = oracle(c.problem, inputs, {.rounding = rounding});
    for (std::size_t s = 0; s < all.size(); ++s) {
      const Comparison result = rules[s].add(all[s]->answer(c.problem, inputs), want);
      INFO(all[s]->name() << ", " << c.name << ": " << described(result, c.problem.sharding()));
      CHECK(result.good);
    }
  }
  std::printf(
      "rule for float32, %s table: %zu cases\n  %-24s RMS of error / standard deviation, and the largest "
      "share "
      "of a bound\n",
      name_of(chosen_set()).c_str(), cases.size(), "");
  for (std::size_t s = 0; s < all.size(); ++s) {
    const RoundingRule& rule = rules[s];
    std::printf("  %-24s", all[s]->name().c_str());
    for (std::size_t t = 0; t < kAnswerNames.size(); ++t)
      std::printf(" %s %.2f", std::string(kAnswerNames[t]).c_str(), rule.size(t));
    std::printf("   %.2f\n", rule.worst_share());
    INFO(all[s]->name() << (rule.together() ? ": " + described(*rule.together()) : ""));
    CHECK(rule.cases() == static_cast<Index>(cases.size()));
    CHECK(rule.good());
  }
}

}  // namespace
}  // namespace ringcraft::verify
