// Lists mistakes that are tried only for scans over scores alone: in whole attention they give the same
// numbers as more common ones.
#include <deque>

#include "verify/diagnose/solve/solve_detail.hpp"
#include "verify/diagnose/twisted/scan.hpp"

namespace ringcraft::verify {
namespace {

constexpr const char* kMaximumOfScores = "Which scores has the running maximum seen by then?";
constexpr const char* kFactorOfScores = "When m grows, in which currency is the old l?";

using Max = ScanTwist::Max;
using Factor = ScanTwist::Factor;
using Weight = ScanTwist::Weight;

// Adds thresholds below which code skips rescaling, with the values commonly chosen.
void add_slack(std::vector<ScanMistake>& all) {
  static std::deque<std::string> sentences;  // as long as the mistakes
  for (const double slack : {8.0, 1.0, 5.0, 10.0, 2.0, 4.0, 20.0, 0.5, 5.545, 0.1, 16.0, 3.0, 30.0, 0.01})
    all.push_back(
        {"scan-slack-sum",
         sentences
             .emplace_back("l is rescaled only where m grows by more than about " + short_number(slack) +
                           ": after a smaller step it is still relative to the old m")
             .c_str(),
         kFactorOfScores,
         {.slack = slack}});
}

}  // namespace

const std::vector<ScanMistake>& scan_mistakes_of_scores() {
  static const std::vector<ScanMistake> all = [] {
    std::vector<ScanMistake> mistakes{
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
         "each score is compared with the one before it, the first one with nothing, and not with the "
         "maximum so far",
         kMaximumOfScores,
         {.max = Max::kRisingBare}},
        {"scan-max-previous",
         "each score is compared with the one before it, the first one with nothing, and not with the "
         "maximum so far; l is rescaled from that one's maximum",
         kMaximumOfScores,
         {.max = Max::kRisingBare, .sum_factor = Factor::kRising, .out_factor = Factor::kRising}},
        {"scan-quotient",
         "exp(score - m) is computed as exp(score) / exp(m), which overflow and vanish by themselves",
         kFactorOfScores,
         {.sum_weight = Weight::kQuotient, .out_weight = Weight::kQuotient}},
        {"scan-quotient",
         "all exponentials of a difference are computed as quotients of two exponentials, which overflow and "
         "vanish by themselves",
         kFactorOfScores,
         {.sum_factor = Factor::kQuotient,
          .out_factor = Factor::kQuotient,
          .sum_weight = Weight::kQuotient,
          .out_weight = Weight::kQuotient}},
        {"scan-quotient",
         "all exponentials of a difference are computed as quotients of two exponentials, which overflow and "
         "vanish by themselves, also where m does not grow",
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
         "the factor of l is computed as exp(old m) / exp(new m) at every score, which overflow and vanish "
         "by themselves",
         kFactorOfScores,
         {.sum_factor = Factor::kQuotientAlways}},
    };
    add_slack(mistakes);
    return mistakes;
  }();
  return all;
}

}  // namespace ringcraft::verify
