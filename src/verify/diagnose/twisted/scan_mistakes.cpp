// Lists the mistakes of a scan with their wording: maxima, factors, visited parts, hidden keys, divisors.
#include "ringcraft/core/shown.hpp"
#include "verify/diagnose/twisted/scan.hpp"

namespace ringcraft::verify {
namespace {

constexpr const char* kMaximum = "Which scores has the running maximum seen by then?";
constexpr const char* kFactor = "When m grows, in which currency are the old l and the old O?";
constexpr const char* kWhen = "Which lines run only if the maximum grows, and which must always run?";
constexpr const char* kHidden = "A key that a row does not see: what does it add to m, to l and to O?";
constexpr const char* kKeys = "Count the keys that one {part} adds: is it all of them, each once?";
constexpr const char* kDivisor = "By what is a row of O divided at the end, and when?";

using Max = ScanTwist::Max;
using Factor = ScanTwist::Factor;
using When = ScanTwist::When;
using Hidden = ScanTwist::Hidden;
using Keys = ScanTwist::Keys;
using Divisor = ScanTwist::Divisor;

void add_factors(std::vector<ScanMistake>& all) {
  const std::vector<ScanMistake> more{
      {"scan-factor-one-sum", "l is not rescaled when m grows", kFactor, {.sum_factor = Factor::kOne}},
      {"scan-factor-one-out", "O is not rescaled when m grows", kFactor, {.out_factor = Factor::kOne}},
      {"scan-factor-one",
       "neither l nor O is rescaled when m grows",
       kFactor,
       {.sum_factor = Factor::kOne, .out_factor = Factor::kOne}},
      {"scan-factor-zero-sum",
       "l begins anew at each {part}: the sum of those before is lost",
       kFactor,
       {.sum_factor = Factor::kZero}},
      {"scan-factor-zero-out",
       "O begins anew at each {part}: what those before gave is lost",
       kFactor,
       {.out_factor = Factor::kZero}},
      {"scan-factor-inverse-sum",
       "the factor of l is inverted: exp(new m - old m)",
       kFactor,
       {.sum_factor = Factor::kInverse}},
      {"scan-factor-inverse-out",
       "the factor of O is inverted: exp(new m - old m)",
       kFactor,
       {.out_factor = Factor::kInverse}},
      {"scan-factor-inverse",
       "the factor of l and O is inverted: exp(new m - old m)",
       kFactor,
       {.sum_factor = Factor::kInverse, .out_factor = Factor::kInverse}},
      {"scan-factor-part-sum",
       "the old l is multiplied by the factor of the new {part}, exp(its maximum - new m)",
       kFactor,
       {.sum_factor = Factor::kOfPart}},
      {"scan-factor-part-out",
       "the old O is multiplied by the factor of the new {part}, exp(its maximum - new m)",
       kFactor,
       {.out_factor = Factor::kOfPart}},
      {"scan-factor-part",
       "the old l and O are multiplied by the factor of the new {part}, exp(its maximum - new m)",
       kFactor,
       {.sum_factor = Factor::kOfPart, .out_factor = Factor::kOfPart}},
      {"scan-factor-to-part-sum",
       "l is rescaled by exp(old m - maximum of the {part}), also where m does not grow",
       kFactor,
       {.sum_factor = Factor::kOldToPart}},
      {"scan-factor-to-part-out",
       "O is rescaled by exp(old m - maximum of the {part}), also where m does not grow",
       kFactor,
       {.out_factor = Factor::kOldToPart}},
      {"scan-factor-to-part",
       "l and O are rescaled by exp(old m - maximum of the {part}), also where m does not grow",
       kFactor,
       {.sum_factor = Factor::kOldToPart, .out_factor = Factor::kOldToPart}},
      {"scan-factor-base2-sum",
       "the factor of l is 2^(old m - new m)",
       kFactor,
       {.sum_factor = Factor::kBase2}},
      {"scan-factor-base2-out",
       "the factor of O is 2^(old m - new m)",
       kFactor,
       {.out_factor = Factor::kBase2}},
      {"scan-factor-base2",
       "the factor of l and O is 2^(old m - new m), the weights are to the base e",
       kFactor,
       {.sum_factor = Factor::kBase2, .out_factor = Factor::kBase2}},
      {"scan-factor-squared-sum",
       "l is rescaled twice when m grows",
       kFactor,
       {.sum_factor = Factor::kSquared}},
      {"scan-factor-squared-out",
       "O is rescaled twice when m grows",
       kFactor,
       {.out_factor = Factor::kSquared}},
      {"scan-factor-squared",
       "l and O are rescaled twice when m grows",
       kFactor,
       {.sum_factor = Factor::kSquared, .out_factor = Factor::kSquared}},
  };
  all.insert(all.end(), more.begin(), more.end());
}

void add_maxima(std::vector<ScanMistake>& all) {
  const std::vector<ScanMistake> more{
      {"scan-max-zero",
       "the maximum begins at 0 (or at a small positive number): scores that all lie below it never set it",
       kMaximum,
       {.max = Max::kFromZero}},
      {"scan-max-lowest",
       "the maximum begins at the lowest finite number, and stays there where nothing is seen",
       kMaximum,
       {.max = Max::kFromLowest}},
      {"scan-max-never",
       "m is never updated: it stays what it was at the beginning",
       kMaximum,
       {.max = Max::kNever}},
      {"scan-max-part",
       "m becomes the maximum of each {part} alone, also where an earlier one was larger",
       kMaximum,
       {.max = Max::kOfPart}},
      {"scan-max-part-zero",
       "the whole state begins anew at each {part}",
       kMaximum,
       {.max = Max::kOfPart, .sum_factor = Factor::kZero, .out_factor = Factor::kZero}},
      {"scan-max-part-one",
       "m becomes the maximum of each {part} alone, and nothing is rescaled",
       kMaximum,
       {.max = Max::kOfPart, .sum_factor = Factor::kOne, .out_factor = Factor::kOne}},
      {"scan-max-first",
       "m stays the maximum of the first {part} that has a key",
       kMaximum,
       {.max = Max::kOfFirst}},
      {"scan-max-hidden",
       "m is the maximum over all keys, also over those that the row does not see",
       kMaximum,
       {.max = Max::kOfHidden}},
      {"scan-max-hidden",
       "m is the maximum over all keys, also over those that the row does not see: where one of them lies "
       "far above the others, every weight vanishes",
       kMaximum,
       {.max = Max::kOfHidden, .divisor = Divisor::kSumUnless}},
      {"scan-max-magnitude", "m is the largest |score|", kMaximum, {.max = Max::kMagnitude}},
      {"scan-max-magnitude",
       "m is the largest |score|: where all scores are far below 0, every weight vanishes",
       kMaximum,
       {.max = Max::kMagnitude, .divisor = Divisor::kSumUnless}},
      {"scan-max-zero",
       "the maximum begins at 0 (or at a small positive number): where all scores lie far below it, every "
       "weight vanishes",
       kMaximum,
       {.max = Max::kFromZero, .divisor = Divisor::kSumUnless}},
      {"scan-max-smaller",
       "m is the smallest score instead of the largest",
       kMaximum,
       {.max = Max::kSmaller}},
      {"scan-max-first-key",
       "only the first key of each {part} enters the maximum",
       kMaximum,
       {.max = Max::kFirstKey}},
      {"scan-max-last-key",
       "only the last key of each {part} enters the maximum",
       kMaximum,
       {.max = Max::kLastKey}},
      {"scan-max-ends",
       "only the first and the last score of each {part} enter the maximum",
       kMaximum,
       {.max = Max::kEnds}},
      {"scan-max-previous",
       "each score is compared with the one before it, not with the maximum so far",
       kMaximum,
       {.max = Max::kRising}},
      {"scan-max-previous",
       "each score is compared with the one before it, not with the maximum so far, and l is rescaled from "
       "that one's maximum",
       kMaximum,
       {.max = Max::kRising, .sum_factor = Factor::kRising, .out_factor = Factor::kRising}},
      {"scan-max-first-lost",
       "the first key of each {part} does not enter the maximum",
       kMaximum,
       {.max = Max::kFirstLost}},
      {"scan-max-last-lost",
       "the last key of each {part} does not enter the maximum",
       kMaximum,
       {.max = Max::kLastLost}},
  };
  all.insert(all.end(), more.begin(), more.end());
}

void add_rest(std::vector<ScanMistake>& all) {
  const std::vector<ScanMistake> more{
      {"scan-grown-sum",
       "l adds the weights of a {part} only where m grows",
       kWhen,
       {.sum_when = When::kGrown}},
      {"scan-grown-out",
       "O adds the values of a {part} only where m grows",
       kWhen,
       {.out_when = When::kGrown}},
      {"scan-grown",
       "l and O add a {part} only where m grows",
       kWhen,
       {.sum_when = When::kGrown, .out_when = When::kGrown}},
      {"scan-not-grown-sum",
       "where m grows, l is rescaled and the new weights are not added to it",
       kWhen,
       {.sum_when = When::kNotGrown}},
      {"scan-not-grown-out",
       "where m grows, O is rescaled and the new values are not added to it",
       kWhen,
       {.out_when = When::kNotGrown}},
      {"scan-not-grown",
       "where m grows, l and O are rescaled and the new keys are not added to them",
       kWhen,
       {.sum_when = When::kNotGrown, .out_when = When::kNotGrown}},
      {"scan-lost-at-growth", "where m grows, the old l is lost", kFactor, {.sum_factor = Factor::kLost}},
      {"scan-lost-at-growth-out", "where m grows, the old O is lost", kFactor, {.out_factor = Factor::kLost}},
      {"scan-lost-at-growth-both",
       "where m grows, the old l and O are lost",
       kFactor,
       {.sum_factor = Factor::kLost, .out_factor = Factor::kLost}},
      {"scan-new-twice",
       "a key that sets a new maximum counts twice: when it is found, and once more with the others",
       kKeys,
       {.keys = Keys::kNewTwice}},
      {"scan-new-twice-sum",
       "l counts a score that sets a new maximum twice: when it is found, and once more with the others",
       kKeys,
       {.keys = Keys::kNewTwiceSum}},
      {"scan-one-lane",
       "l counts every 32nd key alone, the share of one lane of a warp",
       kKeys,
       {.keys = Keys::kOfOneLane}},
      {"scan-first-lost",
       "the first {part} is not added",
       kWhen,
       {.sum_when = When::kNotFirst, .out_when = When::kNotFirst}},
      {"scan-first-lost-sum", "l does not have the first {part}", kWhen, {.sum_when = When::kNotFirst}},
      {"scan-first-lost-out", "O does not have the first {part}", kWhen, {.out_when = When::kNotFirst}},
      {"scan-last-lost",
       "the last {part} is not added",
       kWhen,
       {.sum_when = When::kNotLast, .out_when = When::kNotLast}},
      {"scan-last-lost-sum", "l does not have the last {part}", kWhen, {.sum_when = When::kNotLast}},
      {"scan-last-lost-out", "O does not have the last {part}", kWhen, {.out_when = When::kNotLast}},
      {"scan-first-only",
       "only the first {part} is added",
       kWhen,
       {.sum_when = When::kFirst, .out_when = When::kFirst}},
      {"scan-first-only-sum", "l has the first {part} alone", kWhen, {.sum_when = When::kFirst}},
      {"scan-first-only-out", "O has the first {part} alone", kWhen, {.out_when = When::kFirst}},
      {"scan-hidden-sum", "hidden keys vote in l, and not in O", kHidden, {.hidden = Hidden::kInSum}},
      {"scan-hidden-out", "hidden keys vote in O, and not in l", kHidden, {.hidden = Hidden::kInOut}},
      {"scan-hidden-score",
       "hidden keys enter O with their scores for weights",
       kHidden,
       {.hidden = Hidden::kScore}},
      {"scan-hidden-score",
       "where a row sees no key of a {part}, its scores there enter O for weights",
       kHidden,
       {.hidden = Hidden::kScoreAlone}},
      {"scan-keys-onward",
       "the keys of a row are taken up to the end of its range instead of up to the end of the {part}: later "
       "keys count once more in every {part} before theirs",
       kKeys,
       {.keys = Keys::kOnward}},
      {"scan-keys-backward",
       "the keys of a row are taken from the beginning of its range instead of from that of the {part}: "
       "earlier keys count once more in every {part} after theirs",
       kKeys,
       {.keys = Keys::kBackward}},
      {"scan-keys-everywhere",
       "every {part} adds all keys of the row's range instead of its own alone",
       kKeys,
       {.keys = Keys::kEverywhere}},
      {"scan-hidden-zero-sum",
       "hidden keys vote in l as if their score were 0, and not in O",
       kHidden,
       {.hidden = Hidden::kZeroSum}},
      {"scan-hidden-zero-out",
       "hidden keys vote in O as if their score were 0, and not in l",
       kHidden,
       {.hidden = Hidden::kZeroOut}},
      {"scan-hidden-one-sum", "each hidden key adds 1 to l", kHidden, {.hidden = Hidden::kOneSum}},
      {"scan-hidden-one-out", "hidden keys enter O with the weight 1", kHidden, {.hidden = Hidden::kOneOut}},
      {"scan-ties", "a score that equals m is not added", kKeys, {.keys = Keys::kTiesLost}},
      {"scan-ties-sum", "l does not count a score that equals m", kKeys, {.keys = Keys::kTiesLostSum}},
      {"scan-keys-first", "the first key of each {part} is left out", kKeys, {.keys = Keys::kFirstLost}},
      {"scan-keys-last", "the last key of each {part} is left out", kKeys, {.keys = Keys::kLastLost}},
      {"scan-keys-last-twice", "the last key of each {part} counts twice", kKeys, {.keys = Keys::kLastTwice}},
      {"scan-keys-first-sum",
       "l does not count the first key of each {part}",
       kKeys,
       {.keys = Keys::kFirstLostSum}},
      {"scan-keys-last-sum",
       "l does not count the last key of each {part}",
       kKeys,
       {.keys = Keys::kLastLostSum}},
      {"scan-keys-first-out",
       "O does not have the first key of each {part}",
       kKeys,
       {.keys = Keys::kFirstLostOut}},
      {"scan-keys-last-out",
       "O does not have the last key of each {part}",
       kKeys,
       {.keys = Keys::kLastLostOut}},
      {"scan-hidden-ends",
       "a score of -inf ends the scan: nothing after it is looked at",
       kHidden,
       {.hidden = Hidden::kEnds}},
      {"scan-empty-nan",
       "a {part} without a visible key poisons a state that has seen none: -inf - (-inf) is no number",
       kHidden,
       {.empty = ScanTwist::Empty::kNan}},
      {"scan-divisor-last",
       "O is divided by the sum of the last {part} alone",
       kDivisor,
       {.divisor = Divisor::kOfLast}},
      {"scan-divisor-squared", "O is divided by l twice", kDivisor, {.divisor = Divisor::kSquared}},
      {"scan-divisor-root", "O is divided by the square root of l", kDivisor, {.divisor = Divisor::kSumRoot}},
      {"scan-divisor-max", "O is divided by m instead of l", kDivisor, {.divisor = Divisor::kMax}},
      {"scan-divisor-lse", "O is divided by m + log l instead of l", kDivisor, {.divisor = Divisor::kLse}},
      {"scan-divisor-before",
       "O is divided by l as it was before the last {part}",
       kDivisor,
       {.divisor = Divisor::kBeforeOf}},
  };
  all.insert(all.end(), more.begin(), more.end());
}

// The value of a and b at one place, where at most one of them is wrong.
template <class T>
bool join(T& a, const T& b) {
  if (b == T{}) return true;
  if (a != T{} && a != b) return false;
  a = b;
  return true;
}

}  // namespace

const std::vector<ScanMistake>& scan_mistakes() {
  static const std::vector<ScanMistake> all = [] {
    std::vector<ScanMistake> mistakes;
    mistakes.insert(mistakes.end(), scan_mistakes_of_weights().begin(), scan_mistakes_of_weights().end());
    add_factors(mistakes);
    add_maxima(mistakes);
    add_rest(mistakes);
    return mistakes;
  }();
  return all;
}

std::optional<ScanTwist> both(ScanTwist a, const ScanTwist& b) {
  if (join(a.max, b.max) && join(a.sum_factor, b.sum_factor) && join(a.out_factor, b.out_factor) &&
      join(a.sum_weight, b.sum_weight) && join(a.out_weight, b.out_weight) && join(a.sum_when, b.sum_when) &&
      join(a.out_when, b.out_when) && join(a.hidden, b.hidden) && join(a.keys, b.keys) &&
      join(a.divisor, b.divisor) && join(a.empty, b.empty) && join(a.slack, b.slack))
    return a;
  return {};
}

std::string with_part(std::string sentence, const std::string& part) {
  return replaced(std::move(sentence), "{part}", part);
}

}  // namespace ringcraft::verify
