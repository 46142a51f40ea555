// Explains a wrong softmax over ranks. Each weight is exp(score - L): solves for the L that a rank has used,
// and the m + log l that it returns, and names both by the states that they consist of.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <optional>
#include <tuple>

#include "ringcraft/attention/softmax.hpp"
#include "ringcraft/core/shown.hpp"
#include "verify/diagnose/diagnose.hpp"
#include "verify/diagnose/functions/agree.hpp"
#include "verify/diagnose/functions/shared/shared_maximum.hpp"
#include "verify/diagnose/solve/line_system.hpp"

namespace ringcraft::verify {
namespace {

using State = SoftmaxState<double>;
constexpr double kHiddenScore = -HUGE_VAL;

// The states of all ranks' own columns, [rank][row].
std::vector<std::vector<State>> own_states(const SharedScanExhibit& x) {
  std::vector<std::vector<State>> all;
  for (const SharedScanExhibit::Part& part : x.ranks) {
    all.emplace_back();
    for (Index i = 0; i < part.rows; ++i)
      all.back().push_back(online_scan<double>(
          std::span(part.scores)
              .subspan(static_cast<std::size_t>(i * part.cols), static_cast<std::size_t>(part.cols))));
  }
  return all;
}

double lse_of_state(const State& s) { return s.sum == 0 ? kHiddenScore : s.max + std::log(s.sum); }

// How near numbers are that a mistake gives.
double near_in(DType precision) { return precision == DType::kFloat64 ? 1e-9 : 1e-4; }
bool alike(double got, double want, double within) { return agree_or_nan(got, want, within, 1); }

// A state that a rank may have used for a row.
struct Choice {
  const char* id;
  const char* words;  // after "... the state of a row is that of "
  std::function<double(const std::vector<std::vector<State>>&, int rank, int row)> lse;
};

// The sum over the ranks that `takes` selects, each so many times.
template <class Takes>
auto of_ranks(Takes takes) {
  return [=](const std::vector<std::vector<State>>& all, int rank, int row) {
    State sum;
    const int n = static_cast<int>(all.size());
    for (int r = 0; r < n; ++r)
      for (int times = takes(r, rank, n); times > 0; --times)
        sum = merged(sum, all[static_cast<std::size_t>(r)][static_cast<std::size_t>(row)]);
    return lse_of_state(sum);
  };
}

// Sums relative to no common maximum, or to a wrong one.
template <class Made>
auto of_sums(Made made) {
  return [=](const std::vector<std::vector<State>>& all, int rank, int row) {
    State whole;
    double plain = 0, largest = kHiddenScore;
    for (const auto& states : all) {
      const State& s = states[static_cast<std::size_t>(row)];
      whole = merged(whole, s);
      plain += s.sum;
      largest = std::max(largest, s.max);
    }
    const State& own = all[static_cast<std::size_t>(rank)][static_cast<std::size_t>(row)];
    return made(whole, plain, largest, own, static_cast<double>(all.size()));
  };
}

// States that are gathered by rank and row, and read with another stride.
double of_other_stride(const std::vector<std::vector<State>>& all, bool transposed, int row) {
  const std::size_t ranks = all.size(), rows = all[0].size();
  State sum;
  for (std::size_t r = 0; r < ranks; ++r) {
    const std::size_t at =
        transposed ? static_cast<std::size_t>(row) * ranks + r : (r * rows + static_cast<std::size_t>(row));
    sum = merged(sum, all[at / rows % ranks][at % rows]);
  }
  return lse_of_state(sum);
}

const std::vector<Choice>& choices() {
  static const std::vector<Choice> known{
      {"shared-own", "its own columns alone", of_ranks([](int r, int me, int) { return r == me ? 1 : 0; })},
      {"shared-up-to-own", "the ranks up to itself",
       of_ranks([](int r, int me, int) { return r <= me ? 1 : 0; })},
      {"shared-before", "the ranks before itself",
       of_ranks([](int r, int me, int) { return r < me ? 1 : 0; })},
      {"shared-from-own", "itself and the ranks after it",
       of_ranks([](int r, int me, int) { return r >= me ? 1 : 0; })},
      {"shared-others", "all other ranks, without its own columns",
       of_ranks([](int r, int me, int) { return r != me ? 1 : 0; })},
      {"shared-own-twice", "all ranks, with its own columns twice",
       of_ranks([](int r, int me, int) { return r == me ? 2 : 1; })},
      {"shared-not-last", "all ranks but the last",
       of_ranks([](int r, int, int n) { return r + 1 < n ? 1 : 0; })},
      {"shared-not-first", "all ranks but rank 0", of_ranks([](int r, int, int) { return r > 0 ? 1 : 0; })},
      {"shared-first", "rank 0 alone", of_ranks([](int r, int, int) { return r == 0 ? 1 : 0; })},
      {"shared-last", "the last rank alone", of_ranks([](int r, int, int n) { return r + 1 == n ? 1 : 0; })},
      {"shared-first-twice", "all ranks, with rank 0 twice",
       of_ranks([](int r, int, int) { return r == 0 ? 2 : 1; })},
      {"shared-none", "no rank: an empty one, so that weights are exp(score)",
       [](const std::vector<std::vector<State>>&, int, int) { return 0.0; }},
      {"shared-next", "the next rank alone",
       of_ranks([](int r, int me, int n) { return r == (me + 1) % n ? 1 : 0; })},
      {"shared-previous", "the previous rank alone",
       of_ranks([](int r, int me, int n) { return r == (me + n - 1) % n ? 1 : 0; })},
      {"shared-with-next", "itself and the next rank",
       of_ranks([](int r, int me, int n) { return r == me || r == (me + 1) % n ? 1 : 0; })},
      {"shared-with-previous", "itself and the previous rank",
       of_ranks([](int r, int me, int n) { return r == me || r == (me + n - 1) % n ? 1 : 0; })},
      {"shared-not-next", "all ranks but the next one",
       of_ranks([](int r, int me, int n) { return r != (me + 1) % n ? 1 : 0; })},
      {"shared-not-previous", "all ranks but the previous one",
       of_ranks([](int r, int me, int n) { return r != (me + n - 1) % n ? 1 : 0; })},
      {"shared-all-twice", "all ranks, each twice", of_ranks([](int, int, int) { return 2; })},
      {"shared-sums-added", "all ranks, whose l are added though each follows a maximum of its own",
       of_sums([](const State&, double plain, double largest, const State&, double) {
         return largest + std::log(plain);
       })},
      {"shared-own-max", "all ranks for l, and of its own columns for m",
       of_sums([](const State& whole, double, double, const State& own, double) {
         return own.max + std::log(whole.sum);
       })},
      {"shared-own-max-added", "all ranks for l, added as they are, and of its own columns for m",
       of_sums([](const State&, double plain, double, const State& own, double) {
         return own.max + std::log(plain);
       })},
      {"shared-own-sum", "all ranks for m, and of its own columns for l",
       of_sums([](const State& whole, double, double, const State& own, double) {
         return whole.max + std::log(own.sum);
       })},
      {"shared-mean", "all ranks, divided by their number",
       of_sums([](const State& whole, double, double, const State&, double n) {
         return lse_of_state(whole) - std::log(n);
       })},
      {"shared-stride",
       "other rows: states that lie rank by rank are read row by row, or the other way round",
       [](const std::vector<std::vector<State>>& all, int, int row) {
         return of_other_stride(all, true, row);
       }},
      {"shared-first-row", "row 0 for every row",
       [](const std::vector<std::vector<State>>& all, int, int) { return of_other_stride(all, false, 0); }},
      {"shared-next-row", "the next row",
       [](const std::vector<std::vector<State>>& all, int, int row) {
         return of_other_stride(all, false, (row + 1) % static_cast<int>(all[0].size()));
       }},
  };
  return known;
}

// The L that a rank has used for the weights of a row; empty if no weight determines it.
std::optional<double> used(const SharedScanExhibit::Part& part, Index row, double within) {
  std::optional<double> lse;
  for (Index j = 0; j < part.cols; ++j) {
    const auto at = static_cast<std::size_t>(row * part.cols + j);
    if (part.scores[at] == kHiddenScore || part.weights[at] == 0) continue;
    const double here = part.scores[at] - std::log(part.weights[at]);
    if (lse && !alike(*lse, here, within)) return std::nan("");
    lse = here;
  }
  return lse;
}

// The choice that gives these numbers on all ranks, [rank][row].
using Numbers = std::vector<std::vector<std::optional<double>>>;
const Choice* choice_for(const Numbers& numbers, const std::vector<std::vector<State>>& own, double within) {
  for (const Choice& choice : choices()) {
    bool fits = true;
    for (std::size_t r = 0; r < numbers.size() && fits; ++r)
      for (std::size_t i = 0; i < numbers[r].size() && fits; ++i)
        fits = !numbers[r][i] ||
               alike(*numbers[r][i], choice.lse(own, static_cast<int>(r), static_cast<int>(i)), within);
    if (fits) return &choice;
  }
  return nullptr;
}

// How often the state of the rank d before counts on every rank, for each d; empty if that is no whole
// number. exp(L) is a sum of the ranks' exp(lse), so the counts are solved for.
std::optional<std::vector<int>> counts_for(const Numbers& numbers, const std::vector<std::vector<State>>& own,
                                           double within) {
  const std::size_t n = own.size();
  std::vector<std::vector<double>> columns(n);
  std::vector<double> wanted;
  for (std::size_t r = 0; r < n; ++r)
    for (std::size_t i = 0; i < own[r].size(); ++i) {
      if (!numbers[r][i] || !std::isfinite(*numbers[r][i])) continue;
      wanted.push_back(1);
      for (std::size_t d = 0; d < n; ++d)
        columns[d].push_back(std::exp(lse_of_state(own[(r + n - d) % n][i]) - *numbers[r][i]));
    }
  if (wanted.size() < 2 * n) return {};
  const auto [x, left] = least_squares(columns, wanted);
  if (!(left < within)) return {};
  std::vector<int> counts;
  for (const double count : x) {
    if (std::fabs(count - std::round(count)) > 1e3 * within) return {};
    counts.push_back(static_cast<int>(std::lround(count)));
  }
  return counts;
}

std::string words_of_counts(const std::vector<int>& counts) {
  std::string words;
  for (std::size_t d = 0; d < counts.size(); ++d)
    words += (d == 0 ? "its own columns " : ", those of the rank " + std::to_string(d) + " before ") +
             std::to_string(counts[d]) + (counts[d] == 1 ? " time" : " times");
  return words;
}

bool right(const Numbers& numbers, const std::vector<std::vector<State>>& own, double within) {
  const auto whole = of_ranks([](int, int, int) { return 1; });
  for (std::size_t r = 0; r < numbers.size(); ++r)
    for (std::size_t i = 0; i < numbers[r].size(); ++i)
      if (numbers[r][i] &&
          !alike(*numbers[r][i], whole(own, static_cast<int>(r), static_cast<int>(i)), within))
        return false;
  return true;
}

// Whether each rank's states are, bit for bit, those of merging from its own onward in this direction.
bool merged_from_own(const SharedScanExhibit& x, const std::vector<std::vector<State>>& own, int direction,
                     bool chained) {
  const int n = static_cast<int>(own.size());
  for (int r = 0; r < n; ++r)
    for (std::size_t i = 0; i < own[0].size(); ++i) {
      State sum;
      for (int t = 0; t < n; ++t) {
        const int from = ((r + direction * (chained ? t + 1 : t)) % n + n) % n;
        sum = chained ? merged(own[static_cast<std::size_t>(from)][i], sum)
                      : merged(sum, own[static_cast<std::size_t>(from)][i]);
      }
      const SharedScanExhibit::Part& part = x.ranks[static_cast<std::size_t>(r)];
      if (std::memcmp(&sum.max, &part.max[i], sizeof(double)) != 0 ||
          std::memcmp(&sum.sum, &part.sum[i], sizeof(double)) != 0)
        return false;
    }
  return true;
}

std::vector<Cause> causes_of_order(const SharedScanExhibit& x, const std::vector<std::vector<State>>& own) {
  const char* kOrder = "Floating-point sums depend on their order: which order is the same on every rank?";
  for (const int direction : {1, -1})
    for (const bool chained : {false, true})
      if (merged_from_own(x, own, direction, chained))
        return {{"shared-order",
                 std::string("each rank merges the states in an order of its own, ") +
                     (chained ? "with its own last" : "beginning with its own") +
                     ", not in the order of the ranks: the last bits differ",
                 kOrder}};
  return {{"shared-order-unknown", "the ranks merge the states in different orders: the last bits differ",
           kOrder}};
}

// The cause if rows of weights are never written, on all ranks alike.
std::optional<Cause> cause_of_unwritten(const SharedScanExhibit& x) {
  std::vector<Index> rows;
  for (Index i = 0; i < x.ranks[0].rows; ++i) {
    const auto unwritten_on = [i](const SharedScanExhibit::Part& part) {
      const auto first = part.weights.begin() + i * part.cols;
      return std::all_of(first, first + part.cols, is_unwritten);
    };
    const bool any =
        std::ranges::any_of(x.ranks, [](const SharedScanExhibit::Part& part) { return part.cols > 0; });
    if (any && std::ranges::all_of(x.ranks, unwritten_on)) rows.push_back(i);
  }
  if (rows.empty()) return {};
  const std::string which = static_cast<Index>(rows.size()) == x.ranks[0].rows ? "the weights are"
                            : rows.size() == 1 ? "the weights of row " + std::to_string(rows[0]) + " are"
                                               : "the weights of rows " + listed(rows) + " are";
  return Cause{"shared-unwritten", which + " never written", "Over which rows do your loops run?"};
}

bool states_differ(const SharedScanExhibit& x) {
  return std::ranges::any_of(x.ranks, [&](const SharedScanExhibit::Part& part) {
    return part.max != x.ranks[0].max || part.sum != x.ranks[0].sum;
  });
}

}  // namespace

std::vector<Cause> causes_of(const SharedScanExhibit& x) {
  if (x.ranks.empty() || x.ranks[0].rows == 0) return {};
  if (const auto cause = cause_of_unwritten(x)) return {*cause};
  const std::vector<std::vector<State>> own = own_states(x);
  if (const auto cause = cause_of_shared_maximum(x, own)) return {*cause};
  if (x.precision == DType::kFloat64)
    if (const auto cause = cause_of_shared_float(x, own)) return {*cause};
  const double within = near_in(x.precision);
  Numbers weights, states;
  for (const SharedScanExhibit::Part& part : x.ranks) {
    weights.emplace_back(), states.emplace_back();
    for (Index i = 0; i < part.rows; ++i) {
      weights.back().push_back(used(part, i, within));
      const auto row = static_cast<std::size_t>(i);
      states.back().push_back(lse_of_state({part.max[row], part.sum[row]}));
    }
  }
  const char* kQuestion = "Which columns has the state of a row seen, at the moment when a rank uses it?";
  const bool weights_right = right(weights, own, within), states_right = right(states, own, within);
  if (weights_right && states_right && states_differ(x)) return causes_of_order(x, own);
  if (weights_right && states_right && x.changed)
    return {{"shared-writes-scores", "the scores, which belong to the caller, are written",
             "Whose memory is it that you write to?"}};
  const Choice* const of_weights = weights_right ? nullptr : choice_for(weights, own, within);
  const Choice* const of_states = states_right ? nullptr : choice_for(states, own, within);
  std::vector<Cause> causes;
  const auto add = [&](const Choice& choice, const std::string& subject) {
    causes.push_back({choice.id, subject + choice.words + " (instead of all ranks)", kQuestion});
  };
  if (of_weights != nullptr && of_weights == of_states)
    add(*of_weights, "weights and returned states: each rank takes for a row the state of ");
  else {
    if (of_weights != nullptr) add(*of_weights, "the weights of a rank are taken with the state of ");
    if (of_states != nullptr) add(*of_states, "a rank returns the state of ");
  }
  for (const auto& [numbers, subject, told] :
       {std::tuple{&weights, "the weights of a rank are taken with a state that has ",
                   weights_right || of_weights != nullptr},
        std::tuple{&states, "a rank returns a state that has ", states_right || of_states != nullptr}}) {
    if (told) continue;
    const auto counts = counts_for(*numbers, own, within);
    if (counts && std::ranges::any_of(*counts, [](int count) { return count != 1; }))
      causes.push_back({"shared-counts", subject + words_of_counts(*counts), kQuestion});
  }
  return causes;
}

}  // namespace ringcraft::verify
