// Explains a wrong imbalance by searching the usual measures of unevenness.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "verify/diagnose/functions/formula.hpp"
#include "verify/diagnose/functions/work/work_ledger.hpp"

namespace ringcraft::verify {
namespace {

// The quantities that a measure uses.
struct RankSums {
  std::vector<Index> sums;
  Index cost, entries, largest_entry;

  Index whole() const { return std::accumulate(sums.begin(), sums.end(), Index{0}); }
  double total() const { return static_cast<double>(whole()); }
  double ranks() const { return static_cast<double>(sums.size()); }
  double mean() const { return total() / ranks(); }
  Index most() const { return std::ranges::max(sums); }
  double max() const { return static_cast<double>(most()); }
  double min() const { return static_cast<double>(std::ranges::min(sums)); }
  double busy() const {
    return static_cast<double>(std::ranges::count_if(sums, [](Index s) { return s > 0; }));
  }
  double deviation(double of) const {
    double squares = 0;
    for (const Index sum : sums)
      squares += (static_cast<double>(sum) - mean()) * (static_cast<double>(sum) - mean());
    return std::sqrt(squares / of);
  }
  double median() const {
    std::vector<Index> sorted = sums;
    std::ranges::sort(sorted);
    const std::size_t half = sorted.size() / 2;
    return sorted.size() % 2 == 1 ? static_cast<double>(sorted[half])
                                  : static_cast<double>(sorted[half - 1] + sorted[half]) / 2;
  }
};

struct Measure {
  const char* words;
  double (*value)(const RankSums&);
  double within = 1e-11;
};

const Measure kMeasures[] = {
    {"1 - mean / max", [](const RankSums& s) { return 1 - s.mean() / s.max(); }},
    {"max / mean - 1", [](const RankSums& s) { return s.max() / s.mean() - 1; }},
    {"1 - min / max", [](const RankSums& s) { return 1 - s.min() / s.max(); }},
    {"mean / max", [](const RankSums& s) { return s.mean() / s.max(); }},
    {"max / mean", [](const RankSums& s) { return s.max() / s.mean(); }},
    {"max / min", [](const RankSums& s) { return s.max() / s.min(); }},
    {"min / max", [](const RankSums& s) { return s.min() / s.max(); }},
    {"1 - min / mean", [](const RankSums& s) { return 1 - s.min() / s.mean(); }},
    {"(max - min) / mean", [](const RankSums& s) { return (s.max() - s.min()) / s.mean(); }},
    {"(max - min) / (max + min)",
     [](const RankSums& s) { return (s.max() - s.min()) / (s.max() + s.min()); }},
    {"1 - max / mean", [](const RankSums& s) { return 1 - s.max() / s.mean(); }},
    {"the standard deviation / mean", [](const RankSums& s) { return s.deviation(s.ranks()) / s.mean(); }},
    {"the standard deviation / max", [](const RankSums& s) { return s.deviation(s.ranks()) / s.max(); }},
    {"the standard deviation (over N - 1) / mean",
     [](const RankSums& s) { return s.deviation(s.ranks() - 1) / s.mean(); }},
    {"1 - total / N / max, all in whole numbers",
     [](const RankSums& s) {
       return static_cast<double>(1 - s.whole() / static_cast<Index>(s.sums.size()) / s.most());
     }},
    {"1 - mean / max with the mean rounded down to a whole number",
     [](const RankSums& s) {
       return 1 - static_cast<double>(s.whole() / static_cast<Index>(s.sums.size())) / s.max();
     }},
    {"1 - total / max, without N", [](const RankSums& s) { return 1 - s.total() / s.max(); }},
    {"(max - mean) / N / max", [](const RankSums& s) { return (s.max() - s.mean()) / s.ranks() / s.max(); }},
    {"1 - mean / max with the mean over N - 1",
     [](const RankSums& s) { return 1 - s.total() / (s.ranks() - 1) / s.max(); }},
    {"1 - mean / max with the mean over N + 1",
     [](const RankSums& s) { return 1 - s.total() / (s.ranks() + 1) / s.max(); }},
    {"1 - mean / max with the mean over ranks that have work",
     [](const RankSums& s) { return 1 - s.total() / s.busy() / s.max(); }},
    {"1 - median / max", [](const RankSums& s) { return 1 - s.median() / s.max(); }},
    {"1 - mean / synchronous_cost",
     [](const RankSums& s) { return 1 - s.mean() / static_cast<double>(s.cost); }},
    {"1 - max / synchronous_cost",
     [](const RankSums& s) { return 1 - s.max() / static_cast<double>(s.cost); }},
    {"mean / synchronous_cost", [](const RankSums& s) { return s.mean() / static_cast<double>(s.cost); }},
    {"synchronous_cost / mean - 1",
     [](const RankSums& s) { return static_cast<double>(s.cost) / s.mean() - 1; }},
    {"synchronous_cost / max - 1",
     [](const RankSums& s) { return static_cast<double>(s.cost) / s.max() - 1; }},
    {"1 - mean / max over the entries of the table",
     [](const RankSums& s) {
       return 1 - s.total() / static_cast<double>(s.entries) / static_cast<double>(s.largest_entry);
     }},
    {"1 - total / (steps * N * max), with the mean over the entries of the table",
     [](const RankSums& s) { return 1 - s.total() / static_cast<double>(s.entries) / s.max(); }},
    {"max - mean", [](const RankSums& s) { return s.max() - s.mean(); }},
    {"max - min", [](const RankSums& s) { return s.max() - s.min(); }},
    {"100 * (1 - mean / max), in percent", [](const RankSums& s) { return 100 * (1 - s.mean() / s.max()); }},
    {"100 * mean / max, in percent", [](const RankSums& s) { return 100 * s.mean() / s.max(); }},
    {"1 - total / N / max with the total in 32 bits",
     [](const RankSums& s) { return 1 - static_cast<double>(in_int(s.whole())) / s.ranks() / s.max(); }},
    {"1 - mean / max of the last rank alone: 1 - mean / (sum of the last rank)",
     [](const RankSums& s) { return 1 - s.mean() / static_cast<double>(s.sums.back()); }},
    {"always 0", [](const RankSums&) { return 0.0; }},
    {"always 1", [](const RankSums&) { return 1.0; }},
    {"1 - mean / max, to float's digits only", [](const RankSums& s) { return 1 - s.mean() / s.max(); },
     1e-6}};

RankSums sums_of(const LedgerView& v, const WorkTable& table, bool own) {
  RankSums s{own ? v.work->by_rank : std::vector<Index>(static_cast<std::size_t>(v.ranks()), 0), 0, 0, 0};
  for (const std::vector<Index>& step : table) {
    for (std::size_t r = 0; r < step.size() && !own; ++r) s.sums[r] += step[r];
    s.cost += std::ranges::max(step);
    s.entries += static_cast<Index>(step.size());
    s.largest_entry = std::max(s.largest_entry, std::ranges::max(step));
  }
  if (s.sums.empty()) s.sums.push_back(0);
  return s;
}

bool gives(const Measure& measure, const RankSums& sums, double got) {
  if (sums.sums.empty() || sums.most() == 0) return false;  // would divide by zero
  const double want = measure.value(sums);
  if (std::isfinite(want) != std::isfinite(got)) return false;
  return !std::isfinite(want) || std::fabs(got - want) <= measure.within * std::max(1.0, std::fabs(want));
}

}  // namespace

std::optional<Cause> cause_of_imbalance(const std::vector<LedgerView>& ledgers) {
  const auto all = [&](const Measure& measure, auto sums) {
    return std::ranges::all_of(
        ledgers, [&](const LedgerView& v) { return gives(measure, sums(v), v.work->imbalance); });
  };
  for (const Measure& measure : kMeasures) {
    if (!all(measure, [](const LedgerView& v) { return sums_of(v, v.table, true); }) &&
        !all(measure, [](const LedgerView& v) { return sums_of(v, v.table, false); }) &&
        !all(measure, [](const LedgerView& v) { return sums_of(v, v.right, false); }))
      continue;
    if (&measure == kMeasures) return {};
    return Cause{"solved-work-imbalance",
                 std::string("imbalance is ") + measure.words + " instead of 1 - mean / max",
                 "Of what is the imbalance a share, and which numbers do you divide?"};
  }
  return {};
}

}  // namespace ringcraft::verify
