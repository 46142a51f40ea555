// The oracle against numbers that were computed elsewhere: every entry of golden.json, and the sums that go
// with them.
#include <cmath>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "support/catch.hpp"
#include "verify/oracle/oracle.hpp"

namespace ringcraft::verify {
namespace {

constexpr double kTolerance = 1e-9;

template <class Wave>
Buffer waves(Wave wave) {
  Buffer buffer({1, 1, 8, 2}, DType::kFloat64);
  double x = 0;
  for (double& value : buffer.values<double>()) value = wave(x++);
  return buffer;
}

Inputs golden_inputs() {
  return {waves([](double x) { return std::sin(0.7 * x + 0.1); }),
          waves([](double x) { return std::cos(0.3 * x + 0.2); }),
          waves([](double x) { return std::sin(0.5 * x + 0.3); }),
          waves([](double x) { return std::cos(0.9 * x + 0.4); })};
}

nlohmann::json golden() { return nlohmann::json::parse(std::ifstream(RINGCRAFT_GOLDEN)).at("cases"); }

Problem problem_of(const nlohmann::json& mask) {
  return make_problem({1, 1, 1, 8, 2},
                      {.left = mask.value("left", kNoLimit),
                       .right = mask.value("right", kNoLimit),
                       .cu_seqlens = mask.value("cu_seqlens", std::vector<Position>{})},
                      Layout::kContiguous, 1);
}

double sum(const Buffer& buffer) {
  double total = 0;
  for (const double x : buffer.values<double>()) total += x;
  return total;
}

double absolute_sum(const Buffer& buffer) {
  double total = 0;
  for (const double x : buffer.values<double>()) total += std::fabs(x);
  return total;
}

TEST_CASE("the oracle gives the golden vectors") {
  int entries = 0;
  for (const auto& c : golden()) {
    INFO(c.at("name"));
    const Oracle answer = oracle(problem_of(c.at("mask")), golden_inputs());
    for (const auto& [name, tensor] : named(answer.value)) {
      const auto want = c.at(std::string(name)).get<std::vector<double>>();
      const auto got = tensor.values<double>();
      REQUIRE(got.size() == want.size());
      for (std::size_t i = 0; i < want.size(); ++i, ++entries) {
        INFO(name << "[" << i << "]");
        CHECK(std::fabs(got[i] - want[i]) <= kTolerance);
      }
    }
  }
  CHECK(entries == 4 * (4 * 16 + 8));
}

TEST_CASE("the oracle gives the golden sums") {
  struct Sums {
    double out, dq, dk, dv;
  };
  const std::map<std::string, Sums> want{
      {"full", {2.9523846047, 3.1793759541, 2.4385152327, 3.0838456025}},
      {"causal", {5.1328153331, 2.5517507848, 2.4019737359, 3.4642538637}},
      {"window 3", {2.1168469452, 1.8693165623, 3.0492377078, 3.9718107270}},
      {"window 3, packed", {-1.1061155386, 0.5775709246, 1.4268694644, 4.2342773035}},
  };
  for (const auto& c : golden()) {
    INFO(c.at("name"));
    const Sums& sums = want.at(c.at("name"));
    const Answer answer = oracle(problem_of(c.at("mask")), golden_inputs()).value;
    CHECK(std::fabs(sum(answer.out) - sums.out) <= kTolerance);
    CHECK(std::fabs(absolute_sum(answer.dq) - sums.dq) <= kTolerance);
    CHECK(std::fabs(absolute_sum(answer.dk) - sums.dk) <= kTolerance);
    CHECK(std::fabs(absolute_sum(answer.dv) - sums.dv) <= kTolerance);
  }
}

}  // namespace
}  // namespace ringcraft::verify
