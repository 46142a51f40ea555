// Lists the numbers that a wrong softmax may subtract from the scores of a row instead of their maximum.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "ringcraft/core/shown.hpp"
#include "verify/diagnose/functions/softmax/softmax_law.hpp"
#include "verify/diagnose/solve/solve_detail.hpp"

namespace ringcraft::verify {
namespace {

double largest_of(Scores s, double from = kUnseenScore) {
  for (const double x : s) from = std::max(from, x);
  return from;
}

double smallest_of(Scores s) { return s.empty() ? kUnseenScore : std::ranges::min(s); }

double sum_of(Scores s) { return std::accumulate(s.begin(), s.end(), 0.0); }

std::vector<double> seen_of(Scores s) {
  std::vector<double> seen;
  std::ranges::copy_if(s, std::back_inserter(seen), [](double x) { return x != kUnseenScore; });
  return seen;
}

double mean_of(Scores s) { return s.empty() ? kUnseenScore : sum_of(s) / static_cast<double>(s.size()); }

// The maximum found by a loop that reads every n-th score, or stops early.
double largest_of_every(Scores s, std::size_t step, std::size_t first) {
  double max = kUnseenScore;
  for (std::size_t j = first; j < s.size(); j += step) max = std::max(max, s[j]);
  return max;
}

// The last score that exceeds the one before it; the first one if none does.
double last_that_rose(Scores s) {
  double max = s.empty() ? kUnseenScore : s[0];
  for (std::size_t j = 1; j < s.size(); ++j)
    if (s[j] > s[j - 1]) max = s[j];
  return max;
}

// The scores up to the first one that is smaller than the one before.
Scores first_climb(Scores s) {
  const auto end = std::ranges::adjacent_find(s, [](double a, double b) { return b < a; });
  return end == s.end() ? s : s.first(static_cast<std::size_t>(end - s.begin()) + 1);
}

double magnitude_of(Scores s) {
  double max = 0;
  for (const double x : s) max = std::max(max, std::fabs(x));
  return max;
}

double of_largest_magnitude(Scores s) {
  const auto found = std::ranges::max_element(s, {}, [](double x) { return std::fabs(x); });
  return found == s.end() ? kUnseenScore : *found;
}

double nth_of(Scores s, std::size_t rank) {
  std::vector<double> sorted(s.begin(), s.end());
  std::ranges::sort(sorted, std::greater());
  return sorted.empty() ? kUnseenScore : sorted[std::min(rank, sorted.size() - 1)];
}

void add_single_scores(std::vector<SoftmaxReference>& all) {
  const std::vector<SoftmaxReference> more{
      {"scan-max-none", "no maximum is subtracted: exp overflows above 709, and vanishes below -745",
       [](Scores) { return 0.0; }},
      {"scan-max-first", "the first score is subtracted, not the largest",
       [](Scores s) { return s.empty() ? kUnseenScore : s.front(); }},
      {"scan-max-last", "the last score is subtracted, not the largest",
       [](Scores s) { return s.empty() ? kUnseenScore : s.back(); }},
      {"scan-max-first", "the first visible score is subtracted, not the largest",
       [](Scores s) {
         const auto seen = seen_of(s);
         return seen.empty() ? kUnseenScore : seen.front();
       }},
      {"scan-max-last", "the last visible score is subtracted, not the largest",
       [](Scores s) {
         const auto seen = seen_of(s);
         return seen.empty() ? kUnseenScore : seen.back();
       }},
      {"scan-max-mean", "the mean of the scores is subtracted, not the largest", mean_of},
      {"scan-max-mean", "the mean of the visible scores is subtracted, not the largest",
       [](Scores s) { return mean_of(seen_of(s)); }},
      {"scan-max-smaller", "the smallest score is subtracted, not the largest", smallest_of},
      {"scan-max-smaller", "the smallest visible score is subtracted, not the largest",
       [](Scores s) { return smallest_of(seen_of(s)); }},
      {"scan-max-magnitude", "the largest |score| is subtracted, not the largest score", magnitude_of},
      {"scan-max-magnitude", "the largest |score| of the visible ones is subtracted, not the largest score",
       [](Scores s) { return magnitude_of(seen_of(s)); }},
      {"scan-max-magnitude", "the score of the largest magnitude is subtracted, not the largest score",
       of_largest_magnitude},
      {"scan-max-magnitude",
       "the visible score of the largest magnitude is subtracted, not the largest score",
       [](Scores s) { return of_largest_magnitude(seen_of(s)); }},
      {"scan-max-ends", "the larger of the first and the last score is subtracted, not the largest of all",
       [](Scores s) { return s.empty() ? kUnseenScore : std::max(s.front(), s.back()); }},
      {"scan-max-middle", "the score in the middle of the row is subtracted, not the largest",
       [](Scores s) { return s.empty() ? kUnseenScore : s[s.size() / 2]; }},
      {"scan-max-median", "the median of the scores is subtracted, not the largest",
       [](Scores s) { return nth_of(s, s.size() / 2); }},
      {"scan-max-second", "the second largest score is subtracted, not the largest",
       [](Scores s) { return nth_of(s, 1); }},
      {"scan-max-sum", "the sum of the scores is subtracted, not the largest", sum_of},
      {"scan-max-half", "the mean of the largest and the smallest score is subtracted",
       [](Scores s) { return (largest_of(s) + smallest_of(s)) / 2; }},
      {"scan-max-half", "half of the maximum is subtracted", [](Scores s) { return largest_of(s) / 2; }},
      {"scan-max-twice", "twice the maximum is subtracted", [](Scores s) { return 2 * largest_of(s); }},
      {"scan-max-sign", "the maximum is added to the scores, not subtracted: the weights are exp(score + m)",
       [](Scores s) { return -largest_of(s); }},
      {"scan-max-int", "the maximum is kept in an int: beyond 2^31 it is lost",
       [](Scores s) {
         const double max = largest_of(s);
         return std::fabs(max) < 2147483648.0 ? std::trunc(max) : -2147483648.0;
       }},
      {"scan-max-float", "the maximum is rounded to float: beyond 3e38 it is infinite",
       [](Scores s) { return static_cast<double>(static_cast<float>(largest_of(s))); }},
      {"scan-max-magnitude", "|m| is subtracted instead of the maximum m",
       [](Scores s) { return std::fabs(largest_of(s)); }},
  };
  all.insert(all.end(), more.begin(), more.end());
}

void add_loops(std::vector<SoftmaxReference>& all) {
  const std::vector<SoftmaxReference> more{
      {"scan-max-first-lost", "the search for the maximum leaves out the first score",
       [](Scores s) { return largest_of(s.empty() ? s : s.subspan(1)); }},
      {"scan-max-last-lost", "the search for the maximum leaves out the last score",
       [](Scores s) { return largest_of(s.empty() ? s : s.first(s.size() - 1)); }},
      {"scan-max-previous",
       "the search for the maximum compares each score with the one before it, not with the largest so far",
       last_that_rose},
      {"scan-max-climb", "the search for the maximum stops at the first score that is smaller",
       [](Scores s) { return largest_of(first_climb(s)); }},
      {"scan-max-climb", "the search for the maximum stops at the first score that is not larger",
       [](Scores s) {
         double max = kUnseenScore;
         for (const double x : s) {
           if (!(x > max)) break;
           max = x;
         }
         return max;
       }},
      {"scan-max-every", "the search for the maximum looks at every second score only",
       [](Scores s) { return largest_of_every(s, 2, 0); }},
      {"scan-max-every", "the search for the maximum looks at every second score only, from the second on",
       [](Scores s) { return largest_of_every(s, 2, 1); }},
      {"scan-max-half-row", "the search for the maximum looks at the first half of the row only",
       [](Scores s) { return largest_of(s.first(s.size() / 2)); }},
      {"scan-max-half-row", "the search for the maximum looks at the second half of the row only",
       [](Scores s) { return largest_of(s.subspan(s.size() / 2)); }}};
  all.insert(all.end(), more.begin(), more.end());
  for (const std::size_t most : {2u, 3u, 4u, 8u, 16u, 32u, 64u, 100u, 128u, 256u, 512u, 1024u})
    all.push_back({"scan-max-some",
                   "the search for the maximum looks at the first " + std::to_string(most) + " scores only",
                   [=](Scores s) { return largest_of(s.first(std::min(most, s.size()))); }});
  for (const std::size_t group : {2u, 4u, 8u, 16u, 32u, 64u})
    all.push_back({"scan-max-groups",
                   "the search for the maximum takes " + std::to_string(group) +
                       " scores at a time, and leaves out those after the last whole group",
                   [=](Scores s) { return largest_of(s.first(s.size() / group * group)); }});
}

// The same loops, with the first score as the initial maximum.
void add_loops_from_first(std::vector<SoftmaxReference>& all) {
  std::vector<SoftmaxReference> loops;
  add_loops(loops);
  for (SoftmaxReference& loop : loops)
    all.push_back({loop.id, loop.words + ", beside the first one", [of = loop.of](Scores s) {
                     return s.empty() ? kUnseenScore : std::max(s.front(), of(s));
                   }});
}

// Initial values of the search. The most common ones come first, as similar values give the same result.
void add_starts(std::vector<SoftmaxReference>& all) {
  all.push_back({"scan-max-zero",
                 "the maximum begins at 0 (or at a small positive number): scores that all lie below it "
                 "never set it",
                 [](Scores s) { return largest_of(s, 0); }});
  for (const double start :
       {-1e4, -1e3,  -1e5,  -1e6,  -1e9,  -100.0, -1e10, -1e30, -1e38, -1.0,   -1e2, -1e7, -1e8,  1.0, -10.,
        -50., -500., -9e15, -1e12, -1e15, -1e18,  -1e20, -1e25, -1e37, -1e100, 10.,  100., 1000., 1e4})
    all.push_back({"scan-max-start",
                   "the maximum begins at a fixed number (about " + short_number(start) +
                       ") instead of -inf: where all scores of a row lie far below it, every exponential "
                       "vanishes",
                   [=](Scores s) { return largest_of(s, start); }});
}

}  // namespace

const std::vector<SoftmaxReference>& softmax_references() {
  static const std::vector<SoftmaxReference> all = [] {
    std::vector<SoftmaxReference> references{{"", "", [](Scores s) { return largest_of(s); }}};
    add_single_scores(references);
    add_starts(references);
    add_loops(references);
    add_loops_from_first(references);
    return references;
  }();
  return all;
}

}  // namespace ringcraft::verify
