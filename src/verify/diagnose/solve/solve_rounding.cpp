// State that is rounded between two steps (see solve.hpp). In a claim of 16 bits its errors are about as
// large as those of rounding, so that no row by itself tells it: all rows together do.
#include <algorithm>
#include <cmath>

#include "verify/diagnose/solve/solve_detail.hpp"
#include "verify/diagnose/twisted/twisted_ring_detail.hpp"

namespace ringcraft::verify {
namespace {

constexpr Index kMost = 200;  // wrong rows that are looked at, and right ones

// Sum of squared errors of a row in its units; a difference of nothing needs none.
double squares(std::span<const double> got, std::span<const double> want, std::span<const double> unit) {
  double sum = 0;
  for (std::size_t c = 0; c < got.size(); ++c) {
    const double error = got[c] == want[c] ? 0 : (got[c] - want[c]) / (unit[c] + 1e-288);
    sum += error * error;
  }
  return sum;
}

// Root mean square of the claim's errors beside a twist, in units; -1 where out or lse is no number.
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

}  // namespace

std::optional<Cause> cause_of_rounded_state(const Evidence& e) {
  constexpr double kFits = 0.7, kNearer = 0.6;  // than any other, and than a right ring
  if (e.ring == nullptr || !is_half(e.precision)) return {};
  const TwistedRing ring(e.problem, e.inputs, e.oracle.value, e.place, e.exponents());
  const Sample sample = sample_of(e, TensorGroup::kForward, kMost, kMost);
  std::vector<std::pair<double, Cause>> all{{distance(e, ring, {}, sample), {}}};
  for (const Suspect& suspect : forward_suspects())
    if (suspect.twist.merge >= MergeTwist::kLseInBFloat16)
      all.emplace_back(distance(e, ring, suspect.twist, sample), suspect.cause);
  std::ranges::stable_sort(all, {}, &std::pair<double, Cause>::first);
  const auto& [error, cause] = all[0];
  const bool fits = error >= 0 && error < std::min(kFits, kNearer * all[1].first);
  return fits && !cause.id.empty() ? std::optional(cause) : std::nullopt;
}

}  // namespace ringcraft::verify
