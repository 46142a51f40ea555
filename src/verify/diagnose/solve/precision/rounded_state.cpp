// Recognises state that is rounded between two steps. In a claim of 16 bits these errors are about as large
// as those of normal rounding, so that only all rows together show them.
#include <algorithm>
#include <cmath>

#include "verify/diagnose/solve/precision/few_digits.hpp"
#include "verify/diagnose/twisted/twisted_ring_detail.hpp"

namespace ringcraft::verify {
namespace {

constexpr Index kMost = 200;  // sampled wrong rows, and right ones

// Sum of squared errors of a row in its units; a difference of zero needs no unit.
double squares(std::span<const double> got, std::span<const double> want, std::span<const double> unit) {
  double sum = 0;
  for (std::size_t c = 0; c < got.size(); ++c) {
    const double error = got[c] == want[c] ? 0 : (got[c] - want[c]) / (unit[c] + 1e-288);
    sum += error * error;
  }
  return sum;
}

// Root mean square difference between the claim and a twist, in units; -1 if out or lse is not a number.
double distance(const Evidence& e, const TwistedRing& ring, const Twist& twist, const Sample& sample) {
  double sum = 0, count = 0;
  for (const RowPlace& row : sample.rows) {
    const Merged value = ring.forward(twist, row);
    if (std::isinf(value.lse)) continue;
    const auto add_row = [&](const Buffer& claim, const Buffer& unit, std::span<const double> want) {
      sum += squares(row_of(claim, row.batch, row.head, row.row), want,
                     row_of(unit, row.batch, row.head, row.row));
      count += static_cast<double>(want.size());
    };
    if (e.has("out")) add_row(e.claim.out, e.units().out, value.out);
    if (e.has("lse")) add_row(e.claim.lse, e.units().lse, {&value.lse, 1});
  }
  return count > 0 && std::isfinite(sum) ? std::sqrt(sum / count) : -1;
}

// How far a claim lies between the right result and that of a twist: 1 is the twist. Least squares over all
// elements, in units.
struct Share {
  double product = 0, square = 0, left = 0, count = 0;

  void add(std::span<const double> got, std::span<const double> right, std::span<const double> twisted,
           std::span<const double> unit) {
    for (std::size_t c = 0; c < got.size(); ++c) {
      if (!(unit[c] > 0)) continue;
      const double x = (twisted[c] - right[c]) / unit[c], y = (got[c] - right[c]) / unit[c];
      product += x * y, square += x * x, left += (y - x) * (y - x), ++count;
    }
  }
  bool is_whole() const {
    constexpr double kSure = 10, kMostLeft = 1.5;  // standard errors; units
    if (count < 200 || square == 0) return false;
    const double share = product / square, rms = std::sqrt(left / count);
    return std::fabs(share - 1) < 0.2 && rms < kMostLeft && share > kSure * rms / std::sqrt(square);
  }
};

// The shares of the gradients that exist.
std::vector<Share> shares_of(const Evidence& e, const TwistedRing& ring, const Twist& twist,
                             const Sample& sample) {
  std::vector<Share> all(3);
  const auto add = [&](std::size_t t, const RowPlace& row, std::span<const double> twisted) {
    const auto of = [&](const Answer& answer) {
      return row_of(named(answer)[2 + t].tensor, row.batch, row.head, row.row);
    };
    all[t].add(of(e.claim), of(e.oracle.value), twisted, of(e.units()));
  };
  if (e.has("dq"))
    for (const RowPlace& row : sample.rows) add(0, row, ring.dq(twist, row));
  for (const RowPlace& row : sample.kv_rows) {
    const KvRows value = ring.dkv(twist, row);
    if (e.has("dk")) add(1, row, value.dk);
    if (e.has("dv")) add(2, row, value.dv);
  }
  return all;
}

}  // namespace

std::optional<Cause> cause_of_rounded_lse(const Evidence& e) {
  if (!is_half(e.precision)) return {};
  const TwistedRing ring(e.problem, e.inputs, e.oracle.value, e.place, e.exponents());
  const Sample sample = sample_of(e, TensorGroup::kBackward, kMost, kMost);
  for (const Suspect& suspect : backward_suspects()) {
    const WeightTwist weights = suspect.twist.weights;
    if (weights != WeightTwist::kLseInBFloat16 && weights != WeightTwist::kLseInFloat16) continue;
    const std::vector<Share> shares = shares_of(e, ring, suspect.twist, sample);
    bool all = true;
    for (std::size_t t = 0; t < shares.size(); ++t)
      all = all && (shares[t].is_whole() || !e.is_wrong(kAnswerNames[2 + t]));
    if (all) return suspect.cause;
  }
  return {};
}

std::optional<Cause> cause_of_rounded_state(const Evidence& e) {
  constexpr double kFits = 0.7, kNearer = 0.6;  // than any other, and than a right ring
  if (e.ring == nullptr || !is_half(e.precision)) return {};
  const TwistedRing ring(e.problem, e.inputs, e.oracle.value, e.place, e.exponents());
  const Sample sample = sample_of(e, TensorGroup::kForward, kMost, kMost);
  std::vector<std::pair<double, Cause>> all{{distance(e, ring, {}, sample), {}}};
  for (const Suspect& suspect : forward_suspects())
    if (suspect.twist.merge >= MergeTwist::kLseInBFloat16 &&
        suspect.twist.merge <= MergeTwist::kBothInFloat16)
      all.emplace_back(distance(e, ring, suspect.twist, sample), suspect.cause);
  std::ranges::stable_sort(all, {}, &std::pair<double, Cause>::first);
  const auto& [error, cause] = all[0];
  const bool fits = error >= 0 && error < std::min(kFits, kNearer * all[1].first);
  return fits && !cause.id.empty() ? std::optional(cause) : std::nullopt;
}

}  // namespace ringcraft::verify
