// Mistakes that are looked for in scans over scores alone (see scan.hpp): in whole attention they give what
// more usual ones give.
#include "verify/diagnose/twisted/scan.hpp"

namespace ringcraft::verify {
namespace {

constexpr const char* kMaximumOfScores = "Which scores has the running maximum seen by then?";
constexpr const char* kFactorOfScores = "When m grows, in which currency is the old l?";

using Max = ScanTwist::Max;
using Factor = ScanTwist::Factor;
using Weight = ScanTwist::Weight;

}  // namespace

const std::vector<ScanMistake>& scan_mistakes_of_scores() {
  static const std::vector<ScanMistake> all{
      {"scan-factor-inverse-sum",
       "the factor of l is inverted: exp(new m - old m), which is infinite at the first score, and 0 times "
       "it is "
       "no number",
       kFactorOfScores,
       {.sum_factor = Factor::kInverseBare, .empty = ScanTwist::Empty::kNan}},
      {"scan-factor-inverse-sum",
       "the factor of l is inverted, exp(new m - old m): at the first score it is infinite, and 0 times it "
       "is no "
       "number",
       kFactorOfScores,
       {.sum_factor = Factor::kInverseBare}},
      {"scan-max-previous",
       "each score is compared with the one before it, the first one with nothing, and not with the maximum "
       "so "
       "far",
       kMaximumOfScores,
       {.max = Max::kRisingBare}},
      {"scan-max-previous",
       "each score is compared with the one before it, the first one with nothing, and not with the maximum "
       "so "
       "far; l is rescaled from that one's maximum",
       kMaximumOfScores,
       {.max = Max::kRisingBare, .sum_factor = Factor::kRising, .out_factor = Factor::kRising}},
      {"scan-quotient",
       "exp(score - m) is computed as exp(score) / exp(m), which overflow and vanish by themselves",
       kFactorOfScores,
       {.sum_weight = Weight::kQuotient, .out_weight = Weight::kQuotient}},
      {"scan-quotient",
       "all exponentials of a difference are computed as quotients of two exponentials, which overflow and "
       "vanish "
       "by themselves",
       kFactorOfScores,
       {.sum_factor = Factor::kQuotient,
        .out_factor = Factor::kQuotient,
        .sum_weight = Weight::kQuotient,
        .out_weight = Weight::kQuotient}},
      {"scan-quotient",
       "all exponentials of a difference are computed as quotients of two exponentials, which overflow and "
       "vanish "
       "by themselves, also where m does not grow",
       kFactorOfScores,
       {.sum_factor = Factor::kQuotientAlways,
        .out_factor = Factor::kQuotientAlways,
        .sum_weight = Weight::kQuotient,
        .out_weight = Weight::kQuotient}},
      {"scan-factor-quotient",
       "the factor of l is computed as exp(old m) / exp(new m), which overflow and vanish by themselves",
       kFactorOfScores,
       {.sum_factor = Factor::kQuotient}},
      {"scan-factor-quotient",
       "the factor of l is computed as exp(old m) / exp(new m) at every score, which overflow and vanish by "
       "themselves",
       kFactorOfScores,
       {.sum_factor = Factor::kQuotientAlways}},
  };
  return all;
}

}  // namespace ringcraft::verify
