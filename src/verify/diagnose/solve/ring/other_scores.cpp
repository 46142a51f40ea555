// Recognises blocks with wrong scores: those of another query, with another factor, or with a soft cap.
// Solves for the factor and the cap from the lse of one row.
#include <algorithm>
#include <cmath>
#include <string>

#include "verify/diagnose/solve/ring/meetings.hpp"
#include "verify/diagnose/solve/ring/near_rows.hpp"
#include "verify/diagnose/solve/ring/other_rows.hpp"
#include "verify/diagnose/solve/ring/running_state.hpp"
#include "verify/diagnose/solve/solve_detail.hpp"
#include "verify/diagnose/twisted/twisted_ring_detail.hpp"

namespace ringcraft::verify {
namespace {

using Changed = std::function<double(const RowBlocks&, double score, Index key)>;

// The row with wrong scores in the blocks that a law selects.
Merged with_scores(const Evidence& e, const RowBlocks& met, const MeetingLaw& law, const Changed& changed) {
  const int rank = e.place.row_owner[static_cast<std::size_t>(met.row.row)];
  RowSums sums(static_cast<std::size_t>(e.problem.head_dim));
  for (int step = 0; step < static_cast<int>(met.blocks.size()); ++step) {
    const ScoredBlock& block = met.blocks[static_cast<std::size_t>(step)];
    const bool other = law.holds({rank, e.place.wrapped(rank - step), step});
    for (std::size_t i = 0; i < block.keys.size(); ++i) {
      if (block.scores[i] == -HUGE_VAL) continue;
      sums.take(other ? changed(met, block.scores[i], block.keys[i]) : block.scores[i], block.values[i]);
    }
  }
  return std::move(sums).result();
}

std::optional<Cause> cause_of_queries(const Evidence& e, const NearRows& rows, const MeetingLaw& law) {
  std::vector<OtherRow> others = rows_of_shard(e);
  for (OtherRow& other : rows_of_other_heads(e)) others.push_back(std::move(other));
  for (const OtherRow& query : others) {
    const Changed changed = [&](const RowBlocks& met, double, Index key) {
      const RowPlace from = *query.of(met.row);
      return e.problem.softmax_scale *
             dot(row_of(e.inputs.q, from.batch, from.head, from.row),
                 row_of(e.inputs.k, met.row.batch, met.row.head / e.problem.group(), key));
    };
    if (rows.fit([&](const RowBlocks& row) { return with_scores(e, row, law, changed); },
                 NearRows::Misses::kNone))
      return Cause{"solved-queries",
                   "with " + law.words + ", the scores of a row are made of the q of another one: that of " +
                       query.words,
                   "Which q does the block function read at each step?"};
  }
  return {};
}

// Applies a factor to a score, or a cap c as in c tanh(score / c).
double reshaped(double score, double number, bool cap) {
  return cap ? number * std::tanh(score / number) : score * number;
}

// The factors or caps that give a row its claimed lse.
std::vector<double> numbers_of(const Evidence& e, const RowBlocks& row, const MeetingLaw& law, bool cap) {
  constexpr int kSteps = 160;
  const double claimed = row_of(e.claim.lse, row.row.batch, row.row.head, row.row.row)[0];
  const auto off = [&](double number) {
    const Changed changed = [&](const RowBlocks&, double score, Index) {
      return reshaped(score, number, cap);
    };
    return with_scores(e, row, law, changed).lse - claimed;
  };
  const auto at = [&](int i) {
    return cap ? 0.3 * std::pow(300.0, i * 1.0 / kSteps) : -4 + 12.0 * i / kSteps;
  };
  std::vector<double> all;
  double before = off(at(0));
  for (int i = 1; i <= kSteps; ++i) {
    double low = at(i - 1), high = at(i);
    const double next = off(high), first = before;
    before = next;
    if (!std::isfinite(first) || !std::isfinite(next) || (first < 0) == (next < 0)) continue;
    for (int halving = 0; halving < 60; ++halving) {
      const double middle = (low + high) / 2;
      ((off(middle) < 0) == (first < 0) ? low : high) = middle;
    }
    all.push_back((low + high) / 2);
  }
  return all;
}

std::optional<Cause> cause_of_numbers(const Evidence& e, const NearRows& rows, const MeetingLaw& law,
                                      bool cap) {
  const auto differs = [&](const RowBlocks& row) {
    const Changed double_it = [](const RowBlocks&, double score, Index) { return score * 2; };
    const double right = row_of(e.oracle.value.lse, row.row.batch, row.row.head, row.row.row)[0];
    return std::isfinite(right) && std::fabs(with_scores(e, row, law, double_it).lse - right) > 0.1;
  };
  const auto row = std::ranges::find_if(rows.rows(), differs);
  if (row == rows.rows().end()) return {};
  for (const double number : numbers_of(e, *row, law, cap)) {
    if (!cap && std::fabs(number - 1) < 1e-4) continue;
    const Changed changed = [&](const RowBlocks&, double score, Index) {
      return reshaped(score, number, cap);
    };
    if (!rows.fit([&](const RowBlocks& each) { return with_scores(e, each, law, changed); },
                  NearRows::Misses::kNone))
      continue;
    if (cap)
      return Cause{"solved-score-cap",
                   "with " + law.words +
                       ", the scores pass a soft cap: c tanh(score / c) with c = " + short_number(number),
                   "Does this model cap its scores, and with all blocks alike?"};
    return Cause{"solved-scale",
                 "with " + law.words + ", the scores are multiplied by " +
                     short_number(number * e.problem.softmax_scale) + " instead of the softmax scale " +
                     short_number(e.problem.softmax_scale),
                 "What is the variance of a dot product of head_dim unit normals?"};
  }
  return {};
}

}  // namespace

std::optional<Cause> cause_of_other_scores(const Evidence& e) {
  if (e.ring == nullptr || !e.place.ring || !e.has("lse")) return {};
  const NearRows rows(e);
  if (rows.count() < 8) return {};
  for (const MeetingLaw& law : meeting_laws(e.place.count())) {
    if (auto cause = cause_of_queries(e, rows, law)) return cause;
    for (const bool cap : {false, true})
      if (!is_half(e.precision))  // whose lse is too coarse to solve for a number
        if (auto cause = cause_of_numbers(e, rows, law, cap)) return cause;
  }
  return {};
}

}  // namespace ringcraft::verify
