// Recognises mistakes of scans outside the grammar: an epsilon in the divisor, unwritten weights, an idle
// scan, overwritten scores, and sums in float.
#include <algorithm>
#include <cmath>

#include "ringcraft/attention/softmax.hpp"
#include "verify/diagnose/functions/agree.hpp"
#include "verify/diagnose/functions/scan/scan_ends.hpp"
#include "verify/diagnose/solve/solve_detail.hpp"

namespace ringcraft::verify {
namespace {

SoftmaxState<double> right_state(const ScoreScan& row) {
  return online_scan<double>(row.scores, {row.max_before, row.sum_before});
}

// A scan that leaves m, l and the scores unchanged.
bool is_idle(const ScoreScan& row) {
  return row.state && row.state->first == row.max_before && row.state->second == row.sum_before &&
         (row.weights.empty() || row.weights == row.scores);
}

}  // namespace

std::optional<Cause> cause_of_epsilon(const ScanExhibit& x) {
  std::vector<double> found;
  for (const ScoreScan& row : x.rows) {
    if (row.weights.size() != row.scores.size()) return {};
    const auto [m, l] = right_state(row);
    for (std::size_t j = 0; j < row.weights.size(); ++j) {
      const double want = l == 0 ? 0 : std::exp(row.scores[j] - m) / l;
      if (want > 1e-6) found.push_back(l * (want / row.weights[j] - 1));
      if (want == 0 && row.weights[j] != 0) return {};
    }
  }
  if (found.empty()) return {};
  const auto [low, high] = std::ranges::minmax(found);
  if (!(low > 1e-13) || !(high < 0.5) || high - low > 1e-3 * high + 1e-13) return {};
  return Cause{"scan-epsilon", "the weights are divided by l + " + short_number(high) + " instead of l",
               "Can l be 0 where a score is seen? The largest score alone adds 1 to it."};
}

std::optional<Cause> cause_of_unwritten_weights(const std::vector<const ScoreScan*>& rows) {
  using Holds = bool (*)(std::size_t at, const ScoreScan& row);
  constexpr std::pair<const char*, Holds> kLaws[] = {
      {"the first weight of a row is", [](std::size_t at, const ScoreScan&) { return at == 0; }},
      {"the last weight of a row is",
       [](std::size_t at, const ScoreScan& row) { return at + 1 == row.weights.size(); }},
      {"all weights of a row but the first are", [](std::size_t at, const ScoreScan&) { return at > 0; }},
      {"all weights of a row but the last are",
       [](std::size_t at, const ScoreScan& row) { return at + 1 < row.weights.size(); }},
      {"the weights of hidden scores are",
       [](std::size_t at, const ScoreScan& row) { return row.scores[at] == -HUGE_VAL; }},
      {"the weights are", [](std::size_t, const ScoreScan&) { return true; }}};
  bool any = false;
  for (const ScoreScan* row : rows) any = any || std::ranges::any_of(row->weights, is_unwritten);
  if (!any) return {};
  for (const auto& [words, holds] : kLaws)
    if (std::ranges::all_of(rows, [&, holds = holds](const ScoreScan* row) {
          for (std::size_t j = 0; j < row->weights.size(); ++j)
            if (is_unwritten(row->weights[j]) != holds(j, *row)) return false;
          return true;
        }))
      return Cause{"scan-unwritten", std::string(words) + " never written",
                   "From which score to which do your loops run?"};
  return {};
}

std::optional<Cause> cause_of_idle_scan(const ScanExhibit& x) {
  if (!std::ranges::all_of(x.rows, is_idle)) return {};
  return Cause{"scan-idle",
               "m and l stay as they were before: the scan never runs, or its result goes nowhere",
               "Is it called (or launched) at all, and where does it write?"};
}

std::optional<Cause> cause_of_changed_scores(const ScanExhibit& x) {
  if (std::ranges::none_of(x.rows, &ScoreScan::changed)) return {};
  return Cause{"scan-writes-scores", "the scores, which belong to the caller, are written",
               "Whose memory is it that you write to?"};
}

std::optional<Cause> cause_of_float_scan(const std::vector<const ScoreScan*>& rows) {
  constexpr double kDigit = 1.2e-7;  // of float
  bool is_float = true;
  double most = 0;
  for (const ScoreScan* row : rows) {
    const auto [m, l] = right_state(*row);
    const double digits = kDigit * (4 + static_cast<double>(row->scores.size()));
    const double same_digits = l == 0 ? 0 : digits + kDigit * std::fabs(m);
    if (!row->state || same_digits > 0.1) continue;  // float has no digits of such scores
    const auto [got_m, got_l] = *row->state;
    if (!agree(got_m, m, kDigit) || !agree(got_l, l, same_digits)) return {};
    is_float = is_float && got_l == static_cast<double>(static_cast<float>(got_l));
    if (l != 0) most = std::max(most, std::fabs(got_l / l - 1));
  }
  if (most < 1e-10) return {};
  return Cause{"scan-float",
               is_float ? "l is summed in float: it has no more digits"
                        : "the exponentials of l, or what they are made of, are computed in float",
               "In which type is each step computed, and how many digits has it?"};
}

}  // namespace ringcraft::verify
