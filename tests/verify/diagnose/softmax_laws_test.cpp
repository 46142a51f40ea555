// Tests a softmax in three passes: the mistake at each of its places is found, and nothing else is named.
#include <algorithm>
#include <cmath>

#include "ringcraft/core/random.hpp"
#include "support/catch.hpp"
#include "verify/diagnose/diagnose.hpp"
#include "verify/diagnose/functions/softmax/softmax_law.hpp"

namespace ringcraft::verify {
namespace {

constexpr double kUnseen = -HUGE_VAL;

SoftmaxLaw right_law() {
  return {&softmax_references()[0], &softmax_terms()[0],   &softmax_counts()[0],  &softmax_divisors()[0],
          &softmax_roundings()[0],  &softmax_rereads()[0], &softmax_nothings()[0]};
}

// Rows of many lengths and heights, with their weights by this law.
ScanExhibit weighed_by(const SoftmaxLaw& law, const SoftmaxGuards& guards = {}) {
  Random random(5);
  ScanExhibit x;
  const auto add = [&](std::size_t length, double centre, std::size_t peak, double height, bool shared) {
    ScoreScan row{.scores = {}, .shared = shared};
    for (std::size_t j = 0; j < length; ++j) row.scores.push_back(centre + 2 * random.normal());
    if (peak < length) row.scores[peak] += height;
    row.weights = softmax_weights(law, guards, row);
    x.rows.push_back(std::move(row));
  };
  for (const std::size_t length : {1u, 2u, 3u, 5u, 8u, 21u, 70u, 131u}) add(length, 0, length, 0, false);
  for (const double centre : {-3e4, -1.5e4, -1e4, -2e3, -400.0, 400.0, 800.0, 3e4})
    add(4, centre, 4, 0, false);
  for (std::size_t peak = 0; peak < 6; ++peak) add(6, 0, peak, 900, false);
  for (const std::size_t peak : {10u, 40u, 68u, 69u}) add(70, 0, peak, 900, false);
  add(5, 100, 2, -700, false);
  for (int times = 0; times < 3; ++times) add(5, 0, 5, 0, true);
  for (const bool all : {false, true}) {
    ScoreScan row{.scores = {kUnseen, all ? kUnseen : 1.5, all ? kUnseen : -0.5}};
    row.weights = softmax_weights(law, guards, row);
    x.rows.push_back(std::move(row));
  }
  return x;
}

template <class Words>
void require_each_found(const Words& words, const typename Words::value_type* SoftmaxLaw::*place) {
  for (std::size_t i = 1; i < words.size(); ++i) {
    SoftmaxLaw law = right_law();
    law.*place = &words[i];
    const std::vector<Cause> causes = causes_of(weighed_by(law));
    INFO(words[i].words);
    if (causes.empty() && weighed_by(law).rows.back().weights == weighed_by(right_law()).rows.back().weights)
      continue;  // too much alike on rows like these
    CHECK(std::ranges::find(causes, std::string(words[i].id), &Cause::id) != causes.end());
  }
}

TEST_CASE("a right softmax in three passes has no cause") {
  CHECK(causes_of(weighed_by(right_law())).empty());
}

TEST_CASE("a number that is subtracted instead of the maximum is named") {
  require_each_found(softmax_references(), &SoftmaxLaw::reference);
}

TEST_CASE("wrong exponentials, divisors and roundings of a softmax are named") {
  require_each_found(softmax_terms(), &SoftmaxLaw::term);
  require_each_found(softmax_divisors(), &SoftmaxLaw::divisor);
  require_each_found(softmax_roundings(), &SoftmaxLaw::rounding);
}

TEST_CASE("scores that the sum counts too rarely or too often are named") {
  require_each_found(softmax_counts(), &SoftmaxLaw::count);
}

TEST_CASE("scores that were overwritten are named where weights lie in their memory") {
  require_each_found(softmax_rereads(), &SoftmaxLaw::reread);
}

TEST_CASE("weights of nothing, and small ones that are dropped, are named") {
  require_each_found(softmax_nothings(), &SoftmaxLaw::nothing);
  ScanExhibit x = weighed_by(right_law());
  for (ScoreScan& row : x.rows)
    for (double& weight : row.weights) weight = weight < 1e-3 ? 0 : weight;
  const std::vector<Cause> causes = causes_of(x);
  REQUIRE(!causes.empty());
  CHECK(causes[0].id == "scan-dropped");
}

TEST_CASE("a mistake only of rows in place is named beside the mistake of the others") {
  SoftmaxLaw law = right_law();
  const SoftmaxGuards no_guards{.nothing = SoftmaxGuards::Nothing::kNone, .sum = false};
  for (const SoftmaxReread& reread : softmax_rereads()) {
    law.reread = &reread;
    const std::vector<Cause> causes = causes_of(weighed_by(law, no_guards));
    INFO(reread.words);
    REQUIRE(causes.size() == 1);
    CHECK(causes[0].id == "scan-finish");
    CHECK((causes[0].sentence.find(reread.words) != std::string::npos));
  }
}

TEST_CASE("two mistakes of a softmax are told together") {
  SoftmaxLaw law = right_law();
  law.reference = &softmax_references()[2];
  law.divisor = &softmax_divisors()[5];
  const std::vector<Cause> causes = causes_of(weighed_by(law));
  REQUIRE(!causes.empty());
  CHECK(causes[0].sentence.find(law.reference->words) != std::string::npos);
  CHECK(causes[0].sentence.find(law.divisor->words) != std::string::npos);
}

TEST_CASE("a softmax whose sum is right to float's digits only is told as such") {
  ScanExhibit x = weighed_by(right_law());
  Random random(9);
  for (ScoreScan& row : x.rows) {
    const double factor = 1 + 1e-8 * random.normal();  // another order of adding, say
    for (double& weight : row.weights) weight *= factor;
  }
  const std::vector<Cause> causes = causes_of(x);
  REQUIRE(!causes.empty());
  CHECK(causes[0].id == "scan-float");
  CHECK(causes[0].sentence.find("l is summed in float") == 0);
}

TEST_CASE("scores that are written are named where all weights are right") {
  ScanExhibit x = weighed_by(right_law());
  x.rows[3].changed = true;
  const std::vector<Cause> causes = causes_of(x);
  REQUIRE(causes.size() == 1);
  CHECK(causes[0].id == "scan-writes-scores");
}

}  // namespace
}  // namespace ringcraft::verify
