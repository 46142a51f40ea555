// Explains wrong figures of a ledger: searches for each among the numbers that one step derives from the
// table, or from the ranks' sums.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "verify/diagnose/functions/formula.hpp"
#include "verify/diagnose/functions/work/work_ledger.hpp"

namespace ringcraft::verify {
namespace {

using Numbers = std::vector<Index>;

Index largest(const Numbers& of) { return of.empty() ? 0 : std::ranges::max(of); }
Index smallest(const Numbers& of) { return of.empty() ? 0 : std::ranges::min(of); }
Index sum(const Numbers& of) { return std::accumulate(of.begin(), of.end(), Index{0}); }

std::size_t on_table(int i) { return static_cast<std::size_t>(i); }

// Derives one number for each rank from its column, or for each step from its row.
template <class Make>
Numbers of_columns(const WorkTable& table, int ranks, Make make) {
  Numbers all;
  for (int r = 0; r < ranks; ++r) {
    Numbers column;
    for (const Numbers& step : table) column.push_back(step[on_table(r)]);
    all.push_back(make(column));
  }
  return all;
}
template <class Make>
Numbers of_rows(const WorkTable& table, Make make) {
  Numbers all;
  for (const Numbers& step : table) all.push_back(make(step));
  return all;
}

WorkTable without(WorkTable table, bool first) {
  if (!table.empty()) table.erase(first ? table.begin() : table.end() - 1);
  return table;
}

Index zeros(const WorkTable& table) {
  return sum(
      of_rows(table, [](const Numbers& step) { return static_cast<Index>(std::ranges::count(step, 0)); }));
}

Numbers sums_of(const LedgerView& v, const WorkTable& table) { return of_columns(table, v.ranks(), sum); }

// A figure in words, and its value for a ledger with this table.
template <class Value>
struct FigureWord {
  std::string words;
  Value (*value)(const LedgerView&, const WorkTable&);
};

// ---- by_rank

const FigureWord<Numbers> kByRank[] = {
    {"the columns of the table added up",
     [](const LedgerView& v, const WorkTable& t) { return sums_of(v, t); }},
    {"the sums of the steps", [](const LedgerView&, const WorkTable& t) { return of_rows(t, sum); }},
    {"the sums of the steps where there is one with the number of the rank",
     [](const LedgerView& v, const WorkTable& t) {
       Numbers all = sums_of(v, t);
       const Numbers steps = of_rows(t, sum);
       std::copy_n(steps.begin(), std::min(steps.size(), all.size()), all.begin());
       return all;
     }},
    {"the sums of the steps, and 0 for ranks beyond them",
     [](const LedgerView& v, const WorkTable& t) {
       Numbers all = of_rows(t, sum);
       all.resize(on_table(v.ranks()), 0);
       return all;
     }},
    {"the largest entry of each column",
     [](const LedgerView& v, const WorkTable& t) { return of_columns(t, v.ranks(), largest); }},
    {"the columns without the last step",
     [](const LedgerView& v, const WorkTable& t) { return sums_of(v, without(t, false)); }},
    {"the columns without step 0",
     [](const LedgerView& v, const WorkTable& t) { return sums_of(v, without(t, true)); }},
    {"the last step alone",
     [](const LedgerView& v, const WorkTable& t) {
       return t.empty() ? Numbers(on_table(v.ranks()), 0) : t.back();
     }},
    {"step 0 alone",
     [](const LedgerView& v, const WorkTable& t) {
       return t.empty() ? Numbers(on_table(v.ranks()), 0) : t.front();
     }},
    {"how many entries of each column are not 0",
     [](const LedgerView& v, const WorkTable& t) {
       return of_columns(t, v.ranks(), [](const Numbers& column) {
         return static_cast<Index>(std::ranges::count_if(column, [](Index pairs) { return pairs != 0; }));
       });
     }},
    {"the sums for each owner of keys, not of queries",
     [](const LedgerView& v, const WorkTable& t) {
       Numbers all(on_table(v.ranks()), 0);
       for (std::size_t step = 0; step < t.size(); ++step)
         for (std::size_t r = 0; r < all.size(); ++r)
           all[(r + all.size() - step % all.size()) % all.size()] += t[step][r];
       return all;
     }},
    {"the columns added up from the last rank to the first",
     [](const LedgerView& v, const WorkTable& t) {
       Numbers all = sums_of(v, t);
       std::ranges::reverse(all);
       return all;
     }},
    {"the sums of all ranks up to each",
     [](const LedgerView& v, const WorkTable& t) {
       Numbers all = sums_of(v, t);
       std::partial_sum(all.begin(), all.end(), all.begin());
       return all;
     }},
    {"the columns added up in 32 bits",
     [](const LedgerView& v, const WorkTable& t) {
       return of_columns(t, v.ranks(), [](const Numbers& column) { return in_int(sum(column)); });
     }},
    {"the columns added up in 32 bits, without a sign",
     [](const LedgerView& v, const WorkTable& t) {
       return of_columns(t, v.ranks(), [](const Numbers& column) { return in_unsigned(sum(column)); });
     }},
    {"twice the columns added up",
     [](const LedgerView& v, const WorkTable& t) {
       return of_columns(t, v.ranks(), [](const Numbers& column) { return 2 * sum(column); });
     }},
    {"the mean of each column, rounded down",
     [](const LedgerView& v, const WorkTable& t) {
       return of_columns(t, v.ranks(), [](const Numbers& column) {
         return column.empty() ? 0 : sum(column) / static_cast<Index>(column.size());
       });
     }},
    {"the total, for each rank",
     [](const LedgerView& v, const WorkTable& t) {
       return Numbers(on_table(v.ranks()), sum(sums_of(v, t)));
     }},
    {"nothing: zeros", [](const LedgerView& v, const WorkTable&) { return Numbers(on_table(v.ranks()), 0); }},
    {"nothing: it is empty", [](const LedgerView&, const WorkTable&) { return Numbers(); }}};

// ---- skipped

// Counts entries that satisfy a condition on step, rank, source and pairs.
template <class Holds>
Index entries_with(const LedgerView& v, const WorkTable& table, Holds holds) {
  Index count = 0;
  const int n = v.ranks();
  for (int t = 0; t < static_cast<int>(table.size()); ++t)
    for (int r = 0; r < n; ++r)
      count += holds(t, r, ((r - t) % n + n) % n, table[on_table(t)][on_table(r)]) ? 1 : 0;
  return count;
}

const FigureWord<Index> kSkipped[] = {
    {"the number of entries that are 0", [](const LedgerView&, const WorkTable& t) { return zeros(t); }},
    {"the number of blocks from a later rank",
     [](const LedgerView& v, const WorkTable& t) {
       return entries_with(v, t, [](int, int r, int source, Index) { return source > r; });
     }},
    {"the number of blocks from an earlier rank",
     [](const LedgerView& v, const WorkTable& t) {
       return entries_with(v, t, [](int, int r, int source, Index) { return source < r; });
     }},
    {"the number of entries that are not 0",
     [](const LedgerView& v, const WorkTable& t) {
       return static_cast<Index>(t.size()) * v.ranks() - zeros(t);
     }},
    {"N * N less the entries that are not 0: steps that the ring does not make count, too,",
     [](const LedgerView& v, const WorkTable& t) {
       return Index{v.ranks()} * v.ranks() - static_cast<Index>(t.size()) * v.ranks() + zeros(t);
     }},
    {"the number of steps that the ring does not make",
     [](const LedgerView& v, const WorkTable& t) { return Index{v.ranks()} - static_cast<Index>(t.size()); }},
    {"N times the number of steps that the ring does not make",
     [](const LedgerView& v, const WorkTable& t) {
       return v.ranks() * (Index{v.ranks()} - static_cast<Index>(t.size()));
     }},
    {"the number of entries that are 0, step 0 left out,",
     [](const LedgerView&, const WorkTable& t) { return zeros(without(t, true)); }},
    {"the number of entries that are 0, the last step left out,",
     [](const LedgerView&, const WorkTable& t) { return zeros(without(t, false)); }},
    {"the number of entries that are 0, blocks without rows or keys left out,",
     [](const LedgerView& v, const WorkTable& t) {
       const Sharding s = v.problem->sharding();
       return entries_with(v, t, [&](int, int r, int source, Index pairs) {
         return pairs == 0 && s.rows(r) > 0 && s.rows(source) > 0;
       });
     }},
    {"the number of entries that are 0, ranks without rows left out,",
     [](const LedgerView& v, const WorkTable& t) {
       const Sharding s = v.problem->sharding();
       return entries_with(v, t, [&](int, int r, int, Index pairs) { return pairs == 0 && s.rows(r) > 0; });
     }},
    {"the number of steps with an entry that is 0",
     [](const LedgerView&, const WorkTable& t) {
       return static_cast<Index>(
           std::ranges::count_if(t, [](const Numbers& step) { return smallest(step) == 0; }));
     }},
    {"the number of steps without work",
     [](const LedgerView&, const WorkTable& t) {
       return static_cast<Index>(
           std::ranges::count_if(t, [](const Numbers& step) { return largest(step) == 0; }));
     }},
    {"the number of ranks without work",
     [](const LedgerView& v, const WorkTable& t) {
       return static_cast<Index>(std::ranges::count(sums_of(v, t), 0));
     }},
    {"the number of ranks with an entry that is 0",
     [](const LedgerView& v, const WorkTable& t) {
       return static_cast<Index>(std::ranges::count(of_columns(t, v.ranks(), smallest), 0));
     }},
    {"N (N - 1) / 2, whatever the mask,",
     [](const LedgerView& v, const WorkTable&) { return Index{v.ranks()} * (v.ranks() - 1) / 2; }},
    {"the number of entries that are 0 or 1",
     [](const LedgerView& v, const WorkTable& t) {
       return entries_with(v, t, [](int, int, int, Index pairs) { return pairs <= 1; });
     }},
    {"the number of blocks that are not seen whole",
     [](const LedgerView& v, const WorkTable& t) {
       const Sharding s = v.problem->sharding();
       return entries_with(
           v, t, [&](int, int r, int source, Index pairs) { return pairs < s.rows(r) * s.rows(source); });
     }},
    {"the number of all entries",
     [](const LedgerView& v, const WorkTable& t) { return static_cast<Index>(t.size()) * v.ranks(); }},
    {"1 if the last entry is 0: each entry sets it anew,",
     [](const LedgerView&, const WorkTable& t) {
       return Index{!t.empty() && !t.back().empty() && t.back().back() == 0};
     }},
    {"1 if there is an entry that is 0",
     [](const LedgerView&, const WorkTable& t) { return Index{zeros(t) > 0}; }},
    {"always 0", [](const LedgerView&, const WorkTable&) { return Index{0}; }}};

// ---- synchronous_cost

const FigureWord<Index> kCost[] = {
    {"the largest entries of the steps added up",
     [](const LedgerView&, const WorkTable& t) { return sum(of_rows(t, largest)); }},
    {"the largest sum of a rank: the busiest one is never waited for at a step,",
     [](const LedgerView& v, const WorkTable& t) { return largest(sums_of(v, t)); }},
    {"the mean of the ranks' sums, rounded down,",
     [](const LedgerView& v, const WorkTable& t) { return sum(sums_of(v, t)) / v.ranks(); }},
    {"the sum of all entries", [](const LedgerView& v, const WorkTable& t) { return sum(sums_of(v, t)); }},
    {"the largest entry of the table",
     [](const LedgerView&, const WorkTable& t) { return largest(of_rows(t, largest)); }},
    {"the number of steps times the largest entry of the table",
     [](const LedgerView&, const WorkTable& t) {
       return static_cast<Index>(t.size()) * largest(of_rows(t, largest));
     }},
    {"the largest entries of the ranks (columns) added up",
     [](const LedgerView& v, const WorkTable& t) { return sum(of_columns(t, v.ranks(), largest)); }},
    {"the smallest entries of the steps added up",
     [](const LedgerView&, const WorkTable& t) { return sum(of_rows(t, smallest)); }},
    {"the means of the steps added up, each rounded down,",
     [](const LedgerView& v, const WorkTable& t) {
       Index all = 0;
       for (const Index step : of_rows(t, sum)) all += step / v.ranks();
       return all;
     }},
    {"the largest sum of a step",
     [](const LedgerView&, const WorkTable& t) { return largest(of_rows(t, sum)); }},
    {"the largest entries of all steps but the last one",
     [](const LedgerView&, const WorkTable& t) { return sum(of_rows(without(t, false), largest)); }},
    {"the largest entries of all steps but step 0",
     [](const LedgerView&, const WorkTable& t) { return sum(of_rows(without(t, true), largest)); }},
    {"the largest entry of the last step",
     [](const LedgerView&, const WorkTable& t) { return t.empty() ? 0 : largest(t.back()); }},
    {"the entries of the last rank added up",
     [](const LedgerView& v, const WorkTable& t) { return sums_of(v, t).back(); }},
    {"the entries of rank 0 added up",
     [](const LedgerView& v, const WorkTable& t) { return sums_of(v, t).front(); }},
    {"the number of ranks times the largest sum of a rank",
     [](const LedgerView& v, const WorkTable& t) { return v.ranks() * largest(sums_of(v, t)); }},
    {"the number of ranks times the largest entries of the steps added up",
     [](const LedgerView& v, const WorkTable& t) { return v.ranks() * sum(of_rows(t, largest)); }},
    {"what the ranks wait, added up over steps and ranks,",
     [](const LedgerView& v, const WorkTable& t) {
       return v.ranks() * sum(of_rows(t, largest)) - sum(sums_of(v, t));
     }},
    {"the largest entry so far, added up over the steps,",
     [](const LedgerView&, const WorkTable& t) {
       Index most = 0, all = 0;
       for (const Index step : of_rows(t, largest)) all += most = std::max(most, step);
       return all;
     }},
    {"the largest sum of a rank so far, added up over the steps,",
     [](const LedgerView& v, const WorkTable& t) {
       Numbers so_far(on_table(v.ranks()), 0);
       Index all = 0;
       for (const Numbers& step : t) {
         for (std::size_t r = 0; r < so_far.size(); ++r) so_far[r] += step[r];
         all += largest(so_far);
       }
       return all;
     }},
    {"the sum in 32 bits",
     [](const LedgerView&, const WorkTable& t) { return in_int(sum(of_rows(t, largest))); }},
    {"the sum in 32 bits, without a sign,",
     [](const LedgerView&, const WorkTable& t) { return in_unsigned(sum(of_rows(t, largest))); }},
    {"always 0", [](const LedgerView&, const WorkTable&) { return Index{0}; }}};

// A derivation from the table is reported only if neither the student's own nor the right one gives the right
// figure.
template <class Value, class Words, class Get>
std::optional<Cause> cause_of_figure(const std::vector<LedgerView>& ledgers, const Words& words, Get get,
                                     const char* id, const char* name, const char* question) {
  for (const auto& word : words)
    for (const WorkTable LedgerView::*table : {&LedgerView::table, &LedgerView::right}) {
      if (!std::ranges::all_of(ledgers,
                               [&](const LedgerView& v) { return get(*v.work) == word.value(v, v.*table); }))
        continue;
      if (&word == std::begin(words)) return {};
      return Cause{id, std::string(name) + " is " + word.words + " instead of " + std::begin(words)->words,
                   question};
    }
  return {};
}

}  // namespace

std::vector<Cause> causes_of_figures(const std::vector<LedgerView>& ledgers) {
  std::vector<Cause> causes;
  const auto add = [&](const std::optional<Cause>& cause) {
    if (cause) causes.push_back(*cause);
  };
  add(cause_of_figure<Numbers>(
      ledgers, kByRank, [](const RingWork& w) { return w.by_rank; }, "solved-work-ranks", "by_rank",
      "Which index of the table is the rank, and over which do you add?"));
  add(cause_of_figure<Index>(
      ledgers, kSkipped, [](const RingWork& w) { return Index{w.skipped}; }, "solved-work-skipped", "skipped",
      "Count the blocks of 4 ranks that are not computed, in the table itself: how many?"));
  add(cause_of_figure<Index>(
      ledgers, kCost, [](const RingWork& w) { return w.synchronous_cost; }, "solved-work-cost",
      "synchronous_cost", "All wait for each other after every step: how long does each step take?"));
  add(cause_of_imbalance(ledgers));
  return causes;
}

}  // namespace ringcraft::verify
