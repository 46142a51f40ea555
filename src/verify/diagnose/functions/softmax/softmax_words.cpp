// Lists the mistakes of a softmax other than the subtracted number, with their wording: terms, counts,
// divisors, roundings, re-reads, and rows without a visible score.
#include <algorithm>
#include <cmath>

#include "verify/diagnose/functions/softmax/softmax_law.hpp"
#include "verify/diagnose/solve/solve_detail.hpp"

namespace ringcraft::verify {
namespace {

double right_term(const SoftmaxArgument& x) { return std::exp(x.score - x.reference); }
double bare_term(const SoftmaxArgument& x) { return std::exp(x.score); }
double binary_term(const SoftmaxArgument& x) { return std::exp2(x.score - x.reference); }
double raised_term(const SoftmaxArgument& x) { return std::exp(x.score + x.reference); }
double inverse_term(const SoftmaxArgument& x) { return std::exp(x.reference - x.score); }
double late_term(const SoftmaxArgument& x) { return std::exp(x.score) - x.reference; }
double divided_term(const SoftmaxArgument& x) { return std::exp(x.score / x.reference); }
double decimal_term(const SoftmaxArgument& x) { return std::pow(10.0, x.score - x.reference); }
double squared_term(const SoftmaxArgument& x) { return std::exp(2 * (x.score - x.reference)); }
double score_term(const SoftmaxArgument& x) { return x.score; }
double difference_term(const SoftmaxArgument& x) { return x.score - x.reference; }
double series_term(const SoftmaxArgument& x) { return 1 + (x.score - x.reference); }
double minus_one_term(const SoftmaxArgument& x) { return std::expm1(x.score - x.reference); }
double momentary_term(const SoftmaxArgument& x) {
  return x.so_far == kUnseenScore ? 0.0 : std::exp(x.score - x.so_far);
}

void add_terms(std::vector<SoftmaxTerm>& all) {
  const std::vector<SoftmaxTerm> more{
      {"", "", right_term, right_term},
      {"scan-weight-bare", "the weights are exp(score) over l, without the maximum that l subtracts",
       bare_term, right_term},
      {"scan-weight-bare-sum", "l adds exp(score), without the maximum that the weights subtract", right_term,
       bare_term},
      {"scan-weight-plus",
       "the maximum is added to the scores, not subtracted: the exponentials are exp(score + m)", raised_term,
       raised_term},
      {"scan-weight-plus", "the weights are exp(score + m): the maximum is added, not subtracted",
       raised_term, right_term},
      {"scan-weight-plus-sum", "l adds exp(score + m): the maximum is added, not subtracted", right_term,
       raised_term},
      {"scan-weight-inverse", "the sign is turned round: the exponentials are exp(m - score)", inverse_term,
       inverse_term},
      {"scan-weight-inverse", "the sign of the weights is turned round: they are exp(m - score)",
       inverse_term, right_term},
      {"scan-weight-inverse-sum", "the sign in l is turned round: it adds exp(m - score)", right_term,
       inverse_term},
      {"scan-weight-base2", "all exponentials are to the base 2", binary_term, binary_term},
      {"scan-weight-base2", "the weights are 2^(score - m), the sum is to the base e", binary_term,
       right_term},
      {"scan-weight-base2-sum", "l adds 2^(score - m), the weights are to the base e", right_term,
       binary_term},
      {"scan-weight-base10", "all exponentials are to the base 10", decimal_term, decimal_term},
      {"scan-weight-late", "the maximum is subtracted from the exponentials, not from the scores", late_term,
       late_term},
      {"scan-weight-quotient", "the scores are divided by the maximum, which is not subtracted", divided_term,
       divided_term},
      {"scan-weight-squared", "the exponentials are squared", squared_term, squared_term},
      {"scan-weight-squared", "the weights are squared: exp(score - m) twice over l", squared_term,
       right_term},
      {"scan-weight-squared", "l adds the squares of the exponentials", right_term, squared_term},
      {"scan-weight-score", "exp is missing: the weights are the scores over their sum", score_term,
       score_term},
      {"scan-weight-score", "exp is missing: score - m is divided by the sum of these differences",
       difference_term, difference_term},
      {"scan-weight-score", "exp is missing in the weights: they are score - m, over l", difference_term,
       right_term},
      {"scan-weight-score", "exp is missing in the weights: they are the scores, over l", score_term,
       right_term},
      {"scan-weight-score-sum", "exp is missing in l: it adds the differences score - m", right_term,
       difference_term},
      {"scan-weight-score-sum", "exp is missing in l: it adds the scores", right_term, score_term},
      {"scan-weight-series", "exp(x) is replaced by 1 + x", series_term, series_term},
      {"scan-weight-moment",
       "each weight is taken against the largest score so far, and does not follow when a larger one comes",
       momentary_term, right_term},
      {"scan-weight-moment",
       "each exponential is taken against the largest score so far, and follows no larger one: neither the "
       "weights nor l are rescaled",
       momentary_term, momentary_term},
      {"scan-weight-minus-one", "the exponentials are exp(score - m) - 1", minus_one_term, minus_one_term},
  };
  all.insert(all.end(), more.begin(), more.end());
}

// Adds clamped exponents, for the many bounds in use.
void add_bounds(std::vector<SoftmaxTerm>& all) {
  for (const double bound :
       {700.0, 709.0, 708.0, 600.0, 500.0, 100.0, 88.0, 85.0, 80.0, 60.0, 50.0, 30.0, 20.0, 10.0}) {
    const std::string number = short_number(bound);
    const auto both = [=](const SoftmaxArgument& x) {
      return x.score == kUnseenScore ? 0.0 : std::exp(std::clamp(x.score, -bound, bound));
    };
    const auto above = [=](const SoftmaxArgument& x) { return std::exp(std::min(x.score, bound)); };
    const auto hidden_too = [=](const SoftmaxArgument& x) {
      return std::exp(std::clamp(x.score, -bound, bound));
    };
    const auto below = [=](const SoftmaxArgument& x) {
      return std::exp(std::max(x.score - x.reference, -bound));
    };
    const auto cut = [=](const SoftmaxArgument& x) {
      const double difference = x.score - x.reference;
      return difference < -bound ? 0.0 : std::exp(difference);
    };
    const std::string shift = "no maximum is subtracted: the scores are ";
    all.push_back({"scan-bounds", shift + "cut to " + number + " at most", above, above});
    all.push_back({"scan-bounds", shift + "cut to the range of -" + number + " to " + number, both, both});
    all.push_back(
        {"scan-bounds", shift + "cut to the range of -" + number + " to " + number, both, hidden_too});
    all.push_back({"scan-bounds",
                   shift + "cut to the range of -" + number + " to " + number + ", hidden ones too",
                   hidden_too, hidden_too});
    all.push_back(
        {"scan-bounds", "score - m is cut to -" + number + " at least, for hidden scores too", below, below});
    all.push_back(
        {"scan-bounds", "exponentials of score - m below about -" + number + " are taken for 0", cut, cut});
  }
}

constexpr SoftmaxDivisor kDivisors[] = {
    {"", "", [](const SoftmaxSums& s) { return s.all; }},
    {"scan-finish", "the weights are not divided by l", [](const SoftmaxSums&) { return 1.0; }},
    {"scan-finish",
     "each weight is divided by the sum so far: the division happens while terms are still being added",
     [](const SoftmaxSums& s) { return s.so_far; }},
    {"scan-finish", "each weight is divided by the sum of the terms before it",
     [](const SoftmaxSums& s) { return s.before; }},
    {"scan-finish", "each weight is divided by the sum of its own term and those after it",
     [](const SoftmaxSums& s) { return s.all - s.before; }},
    {"scan-finish", "each weight is divided by the sum of the other terms, without its own",
     [](const SoftmaxSums& s) { return s.all - s.own; }},
    {"scan-finish", "the weights are divided by the number of scores instead of l",
     [](const SoftmaxSums& s) { return s.count; }},
    {"scan-finish", "the weights are divided by the number of visible scores instead of l",
     [](const SoftmaxSums& s) { return s.seen; }},
    {"scan-finish", "the weights are divided by m instead of l",
     [](const SoftmaxSums& s) { return s.reference; }},
    {"scan-finish", "the weights are divided by the sum of the scores instead of l",
     [](const SoftmaxSums& s) { return s.scores; }},
    {"scan-finish", "the weights are divided by l twice", [](const SoftmaxSums& s) { return s.all * s.all; }},
    {"scan-finish", "the weights are divided by the square root of l",
     [](const SoftmaxSums& s) { return std::sqrt(s.all); }},
    {"scan-finish",
     "the weights are divided by the root of the sum of their squares (a Euclidean norm) instead of l",
     [](const SoftmaxSums& s) { return std::sqrt(s.squares); }},
    {"scan-finish", "the weights are divided by the sum of the squares of the exponentials instead of l",
     [](const SoftmaxSums& s) { return s.squares; }},
    {"scan-finish", "the weights are divided by log l instead of l",
     [](const SoftmaxSums& s) { return std::log(s.all); }},
    {"scan-finish", "the weights are divided by m + log l instead of l",
     [](const SoftmaxSums& s) { return s.reference + std::log(s.all); }},
    {"scan-finish", "the weights are divided by l and by the number of scores",
     [](const SoftmaxSums& s) { return s.count * s.all; }},
    {"scan-finish", "the weights are divided by the mean of the exponentials instead of their sum",
     [](const SoftmaxSums& s) { return s.all / s.count; }},
    {"scan-finish", "the weights are divided by the last exponential alone: l is overwritten, not added to",
     [](const SoftmaxSums& s) { return s.last; }},
    {"scan-finish", "the weights are divided by the largest exponential instead of l",
     [](const SoftmaxSums& s) { return s.largest; }},
    {"scan-finish", "the weights are divided by l + 1: the sum begins at 1",
     [](const SoftmaxSums& s) { return s.all + 1; }},
    {"scan-finish", "the weights are divided by l + m: the sum begins at the maximum",
     [](const SoftmaxSums& s) { return s.all + s.reference; }},
    {"scan-finish", "the weights are multiplied by l, not divided",
     [](const SoftmaxSums& s) { return 1 / s.all; }},
};

constexpr SoftmaxRounding kRoundings[] = {
    {"", "", false, false, false, false, false},
    {"scan-float", "l is summed in float", false, false, false, true, false},
    {"scan-float", "the exponentials are rounded to float", false, false, true, false, false},
    {"scan-float", "the weights are rounded to float", false, false, false, false, true},
    {"scan-float", "the exponentials are rounded to float, and summed in float", false, false, true, true,
     false},
    {"scan-float", "the scores are rounded to float", true, false, false, false, false},
    {"scan-float", "the differences score - m are rounded to float", false, true, false, false, false},
    {"scan-float", "the scores are rounded to float, and so is all that is made of them", true, true, true,
     true, true},
    {"scan-float", "the exponentials, l and the weights are rounded to float", false, false, true, true,
     true},
};

constexpr SoftmaxReread kRereads[] = {
    {"", "", [](double s, double, double) { return s; }},
    {"scan-reread",
     "where scores and weights share their memory, the exponentials are written over the scores, and are "
     "then read as scores once more",
     [](double s, double m, double) { return std::exp(s - m); }},
    {"scan-reread",
     "where scores and weights share their memory, score - m is written over the scores, and is then read as "
     "a score once more",
     [](double s, double m, double) { return s - m; }},
    {"scan-reread",
     "where scores and weights share their memory, the weights are set to 0 before the scores are read for "
     "the last time",
     [](double, double, double) { return 0.0; }},
    {"scan-reread",
     "where scores and weights share their memory, exp(score) is written over the scores, and is then read "
     "as a score once more",
     [](double s, double, double) { return std::exp(s); }},
    {"scan-reread",
     "where scores and weights share their memory, the weights are written over the scores, and are then "
     "read as scores once more",
     [](double s, double m, double l) { return std::exp(s - m) / l; }},
    {"scan-reread",
     "where scores and weights share their memory, l is computed anew for each weight, also of the weights "
     "that have been written over scores",
     [](double s, double, double) { return s; }, true},
};

constexpr SoftmaxNothing kNothings[] = {
    {"", "", nullptr},
    {"scan-nothing-weights", "a row without a visible score gets the weights 1 / n, not 0",
     [](std::size_t, std::size_t count) { return 1.0 / static_cast<double>(count); }},
    {"scan-nothing-weights", "a row without a visible score gets the weights 1, not 0",
     [](std::size_t, std::size_t) { return 1.0; }},
    {"scan-nothing-weights", "a row without a visible score gives all weight to its first score",
     [](std::size_t place, std::size_t) { return place == 0 ? 1.0 : 0.0; }},
    {"scan-nothing-weights", "a row without a visible score gives all weight to its last score",
     [](std::size_t place, std::size_t count) { return place + 1 == count ? 1.0 : 0.0; }},
    {"scan-nothing-weights", "a row without a visible score keeps its scores of -inf as weights",
     [](std::size_t, std::size_t) { return kUnseenScore; }},
};

// ---- scores that the sum counts

// Counts each score as often as `times` says for its index.
template <class Times>
auto counts_by(Times times) {
  return [=](Scores s) {
    std::vector<double> all(s.size());
    for (std::size_t j = 0; j < s.size(); ++j) all[j] = times(s, j);
    return all;
  };
}

// The same, given the index of the largest score, the first of equals.
template <class Times>
auto counts_by_max(Times times) {
  return [=](Scores s) {
    std::vector<double> all(s.size());
    const auto at = static_cast<std::size_t>(std::ranges::max_element(s) - s.begin());
    for (std::size_t j = 0; j < s.size(); ++j) all[j] = times(s, j, at);
    return all;
  };
}

void add_places(std::vector<SoftmaxCount>& all) {
  const auto number = [](bool yes) { return yes ? 1.0 : 0.0; };
  const auto add = [&](const char* id, std::string words, auto times, bool is_range) {
    all.push_back({id, std::move(words), counts_by(times), is_range});
  };
  add(
      "scan-sum-last-lost", "the last score of a row is left out",
      [=](Scores s, std::size_t j) { return number(j + 1 < s.size()); }, true);
  add(
      "scan-sum-first-lost", "the first score of a row is left out",
      [=](Scores, std::size_t j) { return number(j > 0); }, true);
  for (const std::size_t from : {0u, 32u, 64u, 128u})
    for (const std::size_t group : {2u, 4u, 8u, 16u, 32u, 64u})
      if (from == 0 || group < from)
        add(
            "scan-whole-groups",
            (from == 0 ? "scores" : "the scores of rows longer than about " + std::to_string(from)) +
                std::string(" are taken ") + std::to_string(group) +
                " at a time, and those after the last whole group are left out",
            [=](Scores s, std::size_t j) { return number(s.size() <= from || j < s.size() / group * group); },
            true);
  for (const std::size_t most :
       {1u, 2u, 3u, 4u, 8u, 16u, 32u, 64u, 100u, 128u, 256u, 512u, 1000u, 1024u, 4096u})
    add(
        "scan-sum-some", "only the first " + std::to_string(most) + " scores of a row are looked at",
        [=](Scores, std::size_t j) { return number(j < most); }, true);
  add(
      "scan-sum-every", "only every second score of a row is looked at",
      [=](Scores, std::size_t j) { return number(j % 2 == 0); }, true);
  add(
      "scan-sum-half", "only the first half of a row is looked at",
      [=](Scores s, std::size_t j) { return number(j < s.size() / 2); }, true);
}

void add_repeats(std::vector<SoftmaxCount>& all) {
  const auto add = [&](const char* id, std::string words, auto times) {
    all.push_back({id, std::move(words), counts_by(times), false});
  };
  const auto add_max = [&](const char* id, std::string words, auto times) {
    all.push_back({id, std::move(words), counts_by_max(times), false});
  };
  add("scan-sum-last-twice", "l counts the last score twice",
      [](Scores s, std::size_t j) { return j + 1 == s.size() ? 2.0 : 1.0; });
  add("scan-sum-first-twice", "l counts the first score twice",
      [](Scores, std::size_t j) { return j == 0 ? 2.0 : 1.0; });
  add("scan-sum-all-twice", "l counts every score twice", [](Scores, std::size_t) { return 2.0; });
  add_max("scan-ties-sum", "l does not count the largest score",
          [](Scores s, std::size_t j, std::size_t at) { return s[j] == s[at] ? 0.0 : 1.0; });
  add_max("scan-ties-sum", "l does not count the largest score where it comes first",
          [](Scores, std::size_t j, std::size_t at) { return j == at ? 0.0 : 1.0; });
  add_max("scan-max-counted-twice", "l counts the largest score twice",
          [](Scores, std::size_t j, std::size_t at) { return j == at ? 2.0 : 1.0; });
  add_max("scan-sum-to-max", "l counts the scores up to the largest one only",
          [](Scores, std::size_t j, std::size_t at) { return j <= at ? 1.0 : 0.0; });
  add_max("scan-sum-from-max", "l counts the scores from the largest one on only",
          [](Scores, std::size_t j, std::size_t at) { return j >= at ? 1.0 : 0.0; });
  add("scan-hidden-one-sum", "l counts each hidden score as 1",
      [](Scores s, std::size_t j) { return s[j] == kUnseenScore ? -1.0 : 1.0; });
  add("scan-sum-positive", "l counts the positive scores only",
      [](Scores s, std::size_t j) { return s[j] > 0 ? 1.0 : 0.0; });
  add("scan-sum-distinct", "l counts a score only where it differs from the one before",
      [](Scores s, std::size_t j) { return j > 0 && s[j] == s[j - 1] ? 0.0 : 1.0; });
  add("scan-sum-climbs", "l counts a score only where it exceeds the one before",
      [](Scores s, std::size_t j) { return j > 0 && !(s[j] > s[j - 1]) ? 0.0 : 1.0; });
}

}  // namespace

std::span<const SoftmaxDivisor> softmax_divisors() { return kDivisors; }
std::span<const SoftmaxRounding> softmax_roundings() { return kRoundings; }
std::span<const SoftmaxReread> softmax_rereads() { return kRereads; }

std::span<const SoftmaxNothing> softmax_nothings() { return kNothings; }

const std::vector<SoftmaxTerm>& softmax_terms() {
  static const std::vector<SoftmaxTerm> all = [] {
    std::vector<SoftmaxTerm> terms;
    add_terms(terms);
    add_bounds(terms);
    return terms;
  }();
  return all;
}

const std::vector<SoftmaxCount>& softmax_counts() {
  static const std::vector<SoftmaxCount> all = [] {
    std::vector<SoftmaxCount> counts{{"", "", counts_by([](Scores, std::size_t) { return 1.0; }), false}};
    add_places(counts);
    add_repeats(counts);
    return counts;
  }();
  return all;
}

}  // namespace ringcraft::verify
