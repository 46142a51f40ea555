// Recognises hidden scores that are finite: each hidden pair keeps a weight with one factor f for all rows,
//   out = (sum of seen E v + f sum of hidden E v) / (sum of seen E + f sum of hidden E).
// Solves for f by least squares, and tests it on every sampled row.
#include <cmath>
#include <optional>

#include "verify/diagnose/solve/solve_detail.hpp"
#include "verify/diagnose/twisted/twisted_ring_detail.hpp"

namespace ringcraft::verify {
namespace {

// The hidden pairs that keep a weight.
enum class Hidden : std::uint8_t { kAll, kLater, kFar, kOtherPacks };

struct SoftMask {
  Hidden hidden;
  bool replaced;  // their scores are replaced by a constant, not shifted by it
};

// Sums of a row over exp(score - reference).
struct SoftSums {
  double reference = -HUGE_VAL, seen = 0, hidden = 0;
  std::vector<double> of_seen, of_hidden;
};

bool is_of(Hidden hidden, const Mask& mask, Position query, Position key) {
  if (hidden == Hidden::kAll) return true;
  Mask rest = mask;  // what else hides the pair
  if (hidden == Hidden::kLater) rest.right = kNoLimit;
  if (hidden == Hidden::kFar) rest.left = kNoLimit;
  if (hidden == Hidden::kOtherPacks) rest.cu_seqlens.clear();
  return visible(rest, query, key);
}

SoftSums sums_of(const Evidence& e, const SoftMask& soft, const RowPlace& row) {
  const Setting setting{.scale = e.problem.softmax_scale};
  const auto width = static_cast<std::size_t>(e.problem.head_dim);
  const Position query = e.problem.queries[static_cast<std::size_t>(row.row)];
  SoftSums sums;
  sums.of_seen.assign(width, 0.0), sums.of_hidden = sums.of_seen;
  std::vector<double> scores;
  for (Index key = 0; key < static_cast<Index>(e.problem.keys.size()); ++key) {
    scores.push_back(setting.scale * product_of(e, setting, row.batch, row.head, row.row, key));
    sums.reference = std::max(sums.reference, scores.back());
  }
  for (Index key = 0; key < static_cast<Index>(e.problem.keys.size()); ++key) {
    const Position at = e.problem.keys[static_cast<std::size_t>(key)];
    const bool seen = visible(e.problem.mask, query, at);
    if (!seen && !is_of(soft.hidden, e.problem.mask, query, at)) continue;
    const double score = !seen && soft.replaced ? 0 : scores[static_cast<std::size_t>(key)];
    const double weight = std::exp(score - sums.reference);
    (seen ? sums.seen : sums.hidden) += weight;
    add(seen ? sums.of_seen : sums.of_hidden, weight,
        value_of(e, setting, row.batch, row.head, row.row, key));
  }
  return sums;
}

// f by least squares over rows that see something, and its standard error.
std::pair<double, double> factor_of_hidden(const Evidence& e, const Sample& sample,
                                           const std::vector<SoftSums>& all) {
  double product = 0, square = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const SoftSums& s = all[i];
    const RowPlace& row = sample.rows[i];
    if (s.seen == 0) continue;
    const auto out = row_of(e.claim.out, row.batch, row.head, row.row);
    const auto t =
        tolerance_of(e, e.claim.out, e.units().out, e.oracle.scale.out, row.batch, row.head, row.row);
    for (std::size_t c = 0; c < out.size(); ++c) {
      const double unit = t[c] * s.seen;
      const double x = (s.of_hidden[c] - out[c] * s.hidden) / unit,
                   y = (out[c] * s.seen - s.of_seen[c]) / unit;
      product += x * y, square += x * x;
    }
  }
  return {product / square, 1 / std::sqrt(square)};
}

bool gives_all_rows(const Evidence& e, const Sample& sample, const std::vector<SoftSums>& all, double f) {
  for (std::size_t i = 0; i < all.size(); ++i) {
    const SoftSums& s = all[i];
    const double sum = s.seen + f * s.hidden, lse = s.reference + std::log(sum);
    std::vector<double> out = s.of_seen;
    add(out, f, s.of_hidden);
    for (double& x : out) x /= sum;
    if (e.has("out") && !is_claimed_row(e, e.claim.out, e.units().out, sample.rows[i], out)) return false;
    if (e.has("lse") && !is_claimed_row(e, e.claim.lse, e.units().lse, sample.rows[i], {&lse, 1}))
      return false;
  }
  return true;
}

Cause cause_of_soft(const Evidence& e, const SoftMask& soft, double amount) {
  const char* which = soft.hidden == Hidden::kAll     ? "hidden pairs"
                      : soft.hidden == Hidden::kLater ? "pairs with a later key"
                      : soft.hidden == Hidden::kFar   ? "pairs outside of the window"
                                                      : "pairs of two packed sequences";
  const std::string after = short_number(amount), before = short_number(amount / e.problem.softmax_scale);
  return {"solved-mask-finite",
          std::string(soft.replaced ? "the scores of " : "to the scores of ") + which +
              (soft.replaced ? " are set to about " : ", about ") + after + " (after the softmax scale; " +
              before +
              (soft.replaced ? " before it) instead of minus infinity: they keep a weight"
                             : " before it) is added instead of minus infinity: they keep a weight"),
          "What must be added to a hidden score so that exp of it is 0, and is the scale applied before or "
          "after?"};
}

}  // namespace

std::optional<Cause> cause_of_finite_mask(const Evidence& e) {
  constexpr Index kMostRows = 64;
  const Mask& mask = e.problem.mask;
  if (mask == full_mask() || !e.has("out")) return {};
  const Sample sample = sample_of(e, TensorGroup::kForward, kMostRows, kMostRows);
  if (sample.rows.size() < 8) return {};
  for (const bool replaced : {false, true})
    for (const Hidden hidden : {Hidden::kAll, Hidden::kLater, Hidden::kFar, Hidden::kOtherPacks}) {
      const bool there = hidden == Hidden::kAll || (hidden == Hidden::kLater && mask.right != kNoLimit) ||
                         (hidden == Hidden::kFar && mask.left != kNoLimit) ||
                         (hidden == Hidden::kOtherPacks && !mask.cu_seqlens.empty());
      if (!there) continue;
      const SoftMask soft{hidden, replaced};
      std::vector<SoftSums> all;
      for (const RowPlace& row : sample.rows) all.push_back(sums_of(e, soft, row));
      const auto [f, error] = factor_of_hidden(e, sample, all);
      // A factor of 1 is no mask at all; one not clearly above 0 is a right mask.
      if (!(f > 20 * error) || (!replaced && f > 0.9) || !gives_all_rows(e, sample, all, f)) continue;
      return cause_of_soft(e, soft, std::log(f));
    }
  return {};
}

}  // namespace ringcraft::verify
