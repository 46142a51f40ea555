// Recomputes sampled rows of a claim from their scores, block by block in the order of the ring.
#include "verify/diagnose/solve/ring/near_rows.hpp"

#include <algorithm>
#include <cmath>

#include "verify/diagnose/twisted/twisted_ring_detail.hpp"

namespace ringcraft::verify {
namespace {

RowBlocks blocks_met_by(const Evidence& e, const RowPlace& row) {
  RowBlocks met{row, {}};
  const int rank = e.place.row_owner[static_cast<std::size_t>(row.row)];
  const Index kv_head = row.head / e.problem.group();
  const auto q = row_of(e.inputs.q, row.batch, row.head, row.row);
  for (int step = 0; step < e.place.count(); ++step) {
    ScoredBlock& block = met.blocks.emplace_back();
    block.keys = e.place.blocks[static_cast<std::size_t>(e.place.wrapped(rank - step))];
    for (const Index key : block.keys) {
      const bool seen = visible(e.problem.mask, e.problem.queries[static_cast<std::size_t>(row.row)],
                                e.problem.keys[static_cast<std::size_t>(key)]);
      const auto k = row_of(e.inputs.k, row.batch, kv_head, key);
      block.values.push_back(row_of(e.inputs.v, row.batch, kv_head, key));
      block.scores.push_back(seen ? e.problem.softmax_scale * dot(q, k) : -HUGE_VAL);
    }
  }
  return met;
}

}  // namespace

void RowSums::take(double score, std::span<const double> value) {
  const double larger = std::max(max_, score), factor = max_ == -HUGE_VAL ? 0 : std::exp(max_ - larger);
  max_ = larger, sum_ *= factor;
  for (double& x : out_) x *= factor;
  sum_ += std::exp(score - max_);
  add(out_, std::exp(score - max_), value);
}

Merged RowSums::result() && {
  Merged merged{std::move(out_)};
  if (max_ == -HUGE_VAL) return merged;
  for (double& x : merged.out) x /= sum_;
  merged.lse = max_ + std::log(sum_);
  return merged;
}

NearRows::NearRows(const Evidence& evidence) : e_(evidence) {
  for (const RowPlace& row : sample_of(e_, TensorGroup::kForward, 60, 20).rows)
    rows_.push_back(blocks_met_by(e_, row));
}

bool NearRows::fit(const std::function<Merged(const RowBlocks&)>& value, Misses misses) const {
  constexpr std::size_t kGlance = 12;
  return fit(value, misses, kGlance) && fit(value, misses, rows_.size());
}

bool NearRows::fit(const std::function<Merged(const RowBlocks&)>& value, Misses misses,
                   std::size_t most) const {
  constexpr double kTies = 0.1, kNear = 0.75, kNearer = 0.6;
  const double may_miss = misses == Misses::kTies ? kTies : 0;
  double missed = 0, looked_at = 0, wrong = 0, wrong_missed = 0, count = 0, squares = 0, right = 0;
  for (std::size_t i = 0; i < std::min(most, rows_.size()); ++i) {
    const RowPlace& row = rows_[i].row;
    const Merged got = value(rows_[i]);
    if (std::isinf(got.lse)) continue;
    ++looked_at;
    bool hit = true, is_right = true;
    const auto look = [&](const Buffer& claim, const Buffer& want, const Buffer& unit,
                          std::span<const double> numbers) {
      const auto claimed = row_of(claim, row.batch, row.head, row.row),
                 exact = row_of(want, row.batch, row.head, row.row),
                 units = row_of(unit, row.batch, row.head, row.row);
      hit = hit && same_row(claimed, numbers, units, e_.nearness(), false);
      is_right = is_right && same_row(claimed, exact, units, e_.nearness(), false);
      for (std::size_t c = 0; c < numbers.size(); ++c) {
        const double off = (claimed[c] - numbers[c]) / (units[c] + 1e-288),
                     off_right = (claimed[c] - exact[c]) / (units[c] + 1e-288);
        squares += off * off, right += off_right * off_right, ++count;
      }
    };
    if (e_.has("out")) look(e_.claim.out, e_.oracle.value.out, e_.units().out, got.out);
    if (e_.has("lse")) look(e_.claim.lse, e_.oracle.value.lse, e_.units().lse, {&got.lse, 1});
    missed += !hit, wrong += !is_right, wrong_missed += !is_right && !hit;
    if (missed > may_miss * static_cast<double>(std::min(most, rows_.size()))) return false;
  }
  if (looked_at < 4 || wrong_missed > may_miss * wrong) return false;
  return !is_half(e_.precision) || (squares < kNear * kNear * count && squares < kNearer * kNearer * right);
}

}  // namespace ringcraft::verify
