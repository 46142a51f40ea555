// Finds the maximum that each rank of a distributed softmax subtracts, from cases where exponentials overflow
// or vanish.
#include "verify/diagnose/functions/shared/shared_maximum.hpp"

#include <algorithm>
#include <cmath>

#include "verify/diagnose/functions/agree.hpp"
#include "verify/diagnose/solve/solve_detail.hpp"

namespace ringcraft::verify {
namespace {

using State = SoftmaxState<double>;
constexpr double kHiddenRow = -std::numeric_limits<double>::infinity();

constexpr double kAlike = 1e-9, kVanished = 1e-290;

double lse_of(double max, double sum) { return sum == 0 ? kHiddenRow : max + std::log(sum); }

// One row on one rank.
struct SharedRow {
  const SharedStates& all;
  const SharedScanExhibit& x;
  std::size_t rank, row;

  const State& of(std::size_t r) const { return all[r][row]; }
  // The largest maximum of the ranks.
  double largest() const {
    double max = kHiddenRow;
    for (std::size_t r = 0; r < all.size(); ++r) max = std::max(max, of(r).max);
    return max;
  }
  // The states of all ranks against this maximum, as exp(m of the rank - m) l.
  State against(double max) const {
    State sum{max, 0};
    for (std::size_t r = 0; r < all.size(); ++r)
      if (of(r).max != kHiddenRow) sum.sum += of(r).sum * std::exp(of(r).max - max);
    return sum;
  }
};

struct MaximumWord {
  std::string id, words;
  std::function<State(const SharedRow&)> of;
};

bool sees_nothing(const SharedRow& r, std::size_t rank, bool by_columns) {
  return by_columns ? r.x.ranks[rank].cols == 0 : r.of(rank).max == kHiddenRow;
}

// Whether a state agrees with `want`. m must agree, too, in a row without visible keys, where l is 0 on every
// rank. The smallest number of a type counts as 0.
bool same_state(double max, double sum, const State& want) {
  if (want.sum == 0 && sum == 0 && max != want.max && !(std::fabs(max - want.max) < 1e-37)) return false;
  return agree_or_nan(lse_of(max, sum), lse_of(want.max, want.sum), kAlike, 1);
}

// The largest maximum, where ranks without visible keys contribute 0.
State with_zero(const SharedRow& r, bool by_columns) {
  double max = r.largest();
  for (std::size_t rank = 0; rank < r.all.size(); ++rank)
    if (sees_nothing(r, rank, by_columns)) max = std::max(max, 0.0);
  return r.against(max);
}

double of_all_rows(const SharedRow& r) {
  double max = kHiddenRow;
  for (const auto& states : r.all)
    for (const State& state : states) max = std::max(max, state.max);
  return max;
}

std::vector<MaximumWord> maximum_words() {
  std::vector<MaximumWord> all{
      {"shared-max-empty", "a rank without columns reports a maximum of 0 instead of -inf",
       [](const SharedRow& r) { return with_zero(r, true); }},
      {"shared-max-zero",
       "the maximum over ranks begins at 0 (or at a small positive number): scores that all lie below it "
       "never set it",
       [](const SharedRow& r) { return r.against(std::max(r.largest(), 0.0)); }},
      {"shared-max-empty", "a rank that sees nothing of a row reports a maximum of 0 instead of -inf",
       [](const SharedRow& r) { return with_zero(r, false); }},
      {"shared-max-none", "no maximum is subtracted: the sums are of exp(score), which overflow and vanish",
       [](const SharedRow& r) { return r.against(0); }},
      {"shared-max-none",
       "no maximum is subtracted from the sums, which are brought to it at the end: exp(score) overflows and "
       "vanishes",
       [](const SharedRow& r) {
         return State{r.largest(), r.against(0).sum / std::exp(r.largest())};
       }},
      {"shared-max-rows", "all rows are shifted by one maximum, the largest of all rows",
       [](const SharedRow& r) { return r.against(of_all_rows(r)); }},
      {"shared-max-first-row", "all rows are shifted by the maximum of row 0",
       [](const SharedRow& r) {
         return r.against(SharedRow{r.all, r.x, r.rank, 0}.largest());
       }},
      {"shared-max-own", "all sums are brought to the maximum of the rank's own columns, not to the largest",
       [](const SharedRow& r) { return r.against(r.of(r.rank).max); }},
      {"shared-max-rank-0", "all sums are brought to the maximum of rank 0, not to the largest",
       [](const SharedRow& r) { return r.against(r.of(0).max); }},
      {"shared-max-last", "all sums are brought to the maximum of the last rank, not to the largest",
       [](const SharedRow& r) { return r.against(r.all.back()[r.row].max); }},
      {"shared-max-smallest", "all sums are brought to the smallest maximum of a rank, not to the largest",
       [](const SharedRow& r) {
         double min = HUGE_VAL;
         for (std::size_t rank = 0; rank < r.all.size(); ++rank)
           if (r.of(rank).max != kHiddenRow) min = std::min(min, r.of(rank).max);
         return r.against(min);
       }},
      {"shared-max-mean", "all sums are brought to the mean of the ranks' maxima, not to the largest",
       [](const SharedRow& r) {
         double sum = 0;
         for (std::size_t rank = 0; rank < r.all.size(); ++rank) sum += r.of(rank).max;
         return r.against(sum / static_cast<double>(r.all.size()));
       }},
      {"shared-max-sum", "the maxima of the ranks are added up, not compared", [](const SharedRow& r) {
         double sum = 0;
         for (std::size_t rank = 0; rank < r.all.size(); ++rank) sum += r.of(rank).max;
         return r.against(sum);
       }}};
  for (const double start :
       {-1e4, -1e3, -1e5, -100.0, -1e6, -1e9, -1e30, -static_cast<double>(std::numeric_limits<float>::max()),
        std::numeric_limits<double>::lowest()})
    all.push_back({"shared-max-start",
                   "the maximum over ranks begins at a fixed number (about " + short_number(start) +
                       ") instead of -inf: scores far below it vanish",
                   [=](const SharedRow& r) { return r.against(std::max(r.largest(), start)); }});
  return all;
}

// Accepts both ways to treat a sum of 0, dividing by it or not, and likewise a row with nothing to subtract.
bool gives_weight(double got, double score, const State& s) {
  const double shift = s.max == kHiddenRow ? 0 : s.max;
  const double term = std::exp(score - shift), bare = std::exp(score - s.max);
  if (s.sum == 0 && (got == 0 || agree_or_nan(got, term, kAlike, kVanished))) return true;
  return agree_or_nan(got, term / s.sum, kAlike, kVanished) ||
         (s.max == kHiddenRow && agree_or_nan(got, bare / s.sum, kAlike, kVanished)) ||
         (score == kHiddenRow && got == 0);
}

// Whether a rank's weights, or its states, are those of this word in all rows.
bool gives_all(const MaximumWord& word, const SharedScanExhibit& x, const SharedStates& own,
               bool of_weights) {
  for (std::size_t rank = 0; rank < own.size(); ++rank)
    for (std::size_t row = 0; row < own[rank].size(); ++row) {
      const SharedScanExhibit::Part& part = x.ranks[rank];
      const State state = word.of({own, x, rank, row});
      if (!of_weights) {
        if (!same_state(part.max[row], part.sum[row], state)) return false;
        continue;
      }
      for (Index j = 0; j < part.cols; ++j) {
        const std::size_t at = row * static_cast<std::size_t>(part.cols) + static_cast<std::size_t>(j);
        if (!gives_weight(part.weights[at], part.scores[at], state)) return false;
      }
    }
  return true;
}

const MaximumWord& right_maximum() {
  static const MaximumWord word{"", "", [](const SharedRow& r) { return r.against(r.largest()); }};
  return word;
}

// The cause if NaN fills all rows of which a rank, or every rank, sees nothing, and everything else is right.
std::optional<Cause> cause_of_nothing_seen(const SharedScanExhibit& x, const SharedStates& own) {
  bool any = false, of_all = true;
  for (std::size_t rank = 0; rank < own.size(); ++rank)
    for (std::size_t row = 0; row < own[rank].size(); ++row) {
      const SharedRow r{own, x, rank, row};
      const bool nobody = r.largest() == kHiddenRow;
      bool somebody_not = false;
      for (std::size_t other = 0; other < own.size(); ++other)
        somebody_not = somebody_not || r.of(other).max == kHiddenRow;
      const State right = r.against(r.largest());
      const SharedScanExhibit::Part& part = x.ranks[rank];
      for (Index j = 0; j < part.cols; ++j) {
        const std::size_t at = row * static_cast<std::size_t>(part.cols) + static_cast<std::size_t>(j);
        const double got = part.weights[at];
        if (std::isnan(got) && !is_unwritten(got) && somebody_not) {
          any = true, of_all = of_all && nobody;
          continue;
        }
        const double want =
            nobody || part.scores[at] == kHiddenRow ? 0.0 : std::exp(part.scores[at] - right.max) / right.sum;
        if (!agree(got, want, kAlike, kVanished)) return {};
      }
    }
  if (!any) return {};
  return Cause{
      "MG14",
      std::string(of_all ? "a row of which no rank sees a score" : "a row of which a rank sees no score") +
          " becomes NaN: -inf - (-inf), or 0 / 0",
      "What may be subtracted where the maximum is -inf, and what is divided by l then?"};
}

}  // namespace

std::optional<Cause> cause_of_shared_maximum(const SharedScanExhibit& x, const SharedStates& own) {
  constexpr const char* kQuestion =
      "Over which states does the maximum of a row go, and with which number does it begin?";
  const bool weights = gives_all(right_maximum(), x, own, true),
             states = gives_all(right_maximum(), x, own, false);
  if (weights && states) return cause_of_nothing_seen(x, own);
  for (const MaximumWord& word : maximum_words()) {
    const bool in_weights = gives_all(word, x, own, true), in_states = gives_all(word, x, own, false);
    if ((in_weights || weights) && (in_states || states)) return Cause{word.id, word.words, kQuestion};
  }
  return cause_of_nothing_seen(x, own);
}

std::optional<Cause> cause_of_shared_float(const SharedScanExhibit& x, const SharedStates& own) {
  constexpr double kDigit = 1.2e-7;
  double most = 0;
  bool states_are_float = true;
  for (std::size_t rank = 0; rank < own.size(); ++rank)
    for (std::size_t row = 0; row < own[rank].size(); ++row) {
      const SharedRow r{own, x, rank, row};
      const State right = r.against(r.largest());
      const SharedScanExhibit::Part& part = x.ranks[rank];
      const auto in_float = [](double number) {
        return number == static_cast<double>(static_cast<float>(number));
      };
      states_are_float = states_are_float && in_float(part.max[row]) && in_float(part.sum[row]);
      const double want = lse_of(right.max, right.sum), got = lse_of(part.max[row], part.sum[row]);
      const double digits = kDigit * (8 + 4 * (want == kHiddenRow ? 0 : std::fabs(want)));
      if (!(got == want || std::fabs(got - want) <= digits)) return {};
      if (got != want) most = std::max(most, std::fabs(got - want));
      for (Index j = 0; j < part.cols; ++j) {
        const std::size_t at = row * static_cast<std::size_t>(part.cols) + static_cast<std::size_t>(j);
        const double weight =
            part.scores[at] == kHiddenRow ? 0.0 : std::exp(part.scores[at] - right.max) / right.sum;
        if (!agree(part.weights[at], weight, 4 * digits, 1e-30)) return {};
        if (weight > 1e-30) most = std::max(most, std::fabs(part.weights[at] / weight - 1));
      }
    }
  if (most < 1e-10) return {};
  return Cause{"shared-float",
               states_are_float ? "states are rounded to float: m and l have no more digits"
                                : "states, or what they are made of, are rounded to float on their way: the "
                                  "numbers are right to its digits only",
               "In which type does a state travel, and how many digits has it?"};
}

}  // namespace ringcraft::verify
