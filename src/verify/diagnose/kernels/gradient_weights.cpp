// Computes P and dS of a pair with the mistakes of a walk, from lse and delta that may be read from the wrong
// place.
#include <limits>

#include "verify/diagnose/kernels/gradient_row.hpp"

namespace ringcraft::verify {
namespace {

using Walk = GradientWalk;
constexpr double kNoNumber = std::numeric_limits<double>::quiet_NaN();

}  // namespace

// A number of a row, read from this place.
double OwnGradientRow::number(const std::vector<double>& all, Walk::Place place, Index row, Index row0,
                              Index key, Index key0) const {
  Index at = row, head = h_, batch = of_keys_ ? batch_of_rows() : b_;
  switch (place) {
    case Walk::Place::kWithinTile:
      at = row - row0;
      break;
    case Walk::Place::kFirstOfTile:
      at = row0;
      break;
    case Walk::Place::kOfThread:
      at = row0 + (row - row0) / (kGradientTile / 2);
      break;
    case Walk::Place::kPartner:
      at = key;
      break;
    case Walk::Place::kPartnerTile:
      at = row0 + key - key0;
      break;
    case Walk::Place::kNext:
      at = row + 1;
      break;
    case Walk::Place::kBefore:
      at = row - 1;
      break;
    case Walk::Place::kHeadZero:
      head = 0;
      break;
    case Walk::Place::kFirstOfGroup:
      head = h_ / p_.group() * p_.group();
      break;
    case Walk::Place::kKvHead:
      head = h_ / p_.group();
      break;
    case Walk::Place::kBatchZero:
      batch = 0;
      break;
    case Walk::Place::kFirstOfAll:
      batch = head = 0;
      break;
    case Walk::Place::kRight:
      break;
  }
  // The rows of all heads are stored one after another.
  const auto rows = static_cast<Index>(p_.queries.size());
  const Index i = (batch * p_.heads + head) * rows + at;
  return i < 0 || i >= static_cast<Index>(all.size()) ? kNoNumber : all[static_cast<std::size_t>(i)];
}

double OwnGradientRow::exponent(double score) const {
  switch (w_.exponent) {
    case Walk::Exponent::kUnscaled:
    case Walk::Exponent::kUnscaledTwo:
      return score;
    case Walk::Exponent::kTwice:
      return p_.softmax_scale * p_.softmax_scale * score;
    case Walk::Exponent::kRoot:
      return score / std::sqrt(static_cast<double>(p_.head_dim));
    case Walk::Exponent::kBaseTwo:
    case Walk::Exponent::kRight:
      break;
  }
  return p_.softmax_scale * score;
}

double OwnGradientRow::lse_of_tile(Index own, const std::vector<Index>& visits, std::size_t n) const {
  double sum = 0;
  for (Index j = 0; j < kGradientTile; ++j)
    if (is_seen(own, visits[n] + j, visits[n]))
      sum += std::exp(p_.softmax_scale * products(own, data0(visits, n) + j).s);
  return std::log(sum);
}

// The sum of P dP over the tile's keys.
double OwnGradientRow::delta_of_tile(Index own, const std::vector<Index>& visits, std::size_t n,
                                     double lse) const {
  double sum = 0;
  for (Index j = 0; j < kGradientTile; ++j)
    if (is_seen(own, visits[n] + j, visits[n])) {
      const Sums x = products(own, data0(visits, n) + j);
      sum += std::exp(p_.softmax_scale * x.s - lse) * x.dp;
    }
  return sum;
}

OwnGradientRow::Pair OwnGradientRow::weights(const std::vector<Index>& visits, std::size_t n, Index own,
                                             Index j, const std::vector<std::vector<Sums>>& earlier) const {
  const Index other = visits[n] + j;
  if (!is_seen(own, other, visits[n])) return {};
  Sums x = products(own, data0(visits, n) + j);
  if (!earlier.empty()) {
    const Sums& before = earlier.front()[static_cast<std::size_t>(j)];
    if (adds_up_tiles(w_.scores)) x.s += before.s;
    if (adds_up_tiles(w_.dp)) x.dp += before.dp;
  }
  if (w_.scores == Walk::Sum::kMissing) x.s = 0;
  if (w_.dp == Walk::Sum::kMissing) x.dp = 0;
  const Index row = of_keys_ ? other : own, key = of_keys_ ? own : other;
  const Index row0 = of_keys_ ? visits[n] : own0_, key0 = of_keys_ ? own0_ : visits[n];
  const Walk::Place both = w_.numbers_place;
  const double saved =
      number(x_.lse, both != Walk::Place::kRight ? both : w_.lse_place, row, row0, key, key0);
  const double delta =
      number(x_.delta, both != Walk::Place::kRight ? both : w_.delta_place, row, row0, key, key0);
  const double e = exponent(x.s) - lse_used(saved, delta, own, visits, n);
  const bool base_two =
      w_.exponent == Walk::Exponent::kBaseTwo || w_.exponent == Walk::Exponent::kUnscaledTwo;
  const double p = base_two ? std::exp2(e) : std::exp(e);
  const double subtrahend = delta_used(delta, saved, own, visits, n), difference = x.dp - subtrahend;
  const double size = std::fabs(x.dp) + std::fabs(subtrahend);
  switch (w_.formula) {
    case Walk::Formula::kNoWeight:
      return {p, difference, size};
    case Walk::Formula::kOnlyDp:
      return {p, p * x.dp - subtrahend, p * std::fabs(x.dp) + std::fabs(subtrahend)};
    case Walk::Formula::kSquared:
      return {p, p * p * difference, p * p * size};
    case Walk::Formula::kNegative:
      return {p, -p * difference, p * size};
    case Walk::Formula::kRight:
      break;
  }
  return {p, p * difference, p * size};
}

double OwnGradientRow::lse_used(double lse, double delta, Index own, const std::vector<Index>& visits,
                                std::size_t n) const {
  switch (w_.lse) {
    case Walk::Lse::kNone:
      return 0;
    case Walk::Lse::kAdded:
      return -lse;
    case Walk::Lse::kScaled:
      return p_.softmax_scale * lse;
    case Walk::Lse::kHalved:
      return lse * std::log(2.0);
    case Walk::Lse::kNatural:
      return lse / std::log(2.0);
    case Walk::Lse::kIsDelta:
      return delta;
    case Walk::Lse::kOfTile:
      return of_keys_ ? kNoNumber : lse_of_tile(own, visits, n);
    case Walk::Lse::kRight:
      break;
  }
  return lse;
}

double OwnGradientRow::delta_used(double delta, double lse, Index own, const std::vector<Index>& visits,
                                  std::size_t n) const {
  switch (w_.delta) {
    case Walk::Delta::kNone:
      return 0;
    case Walk::Delta::kAdded:
      return -delta;
    case Walk::Delta::kScaled:
      return p_.softmax_scale * delta;
    case Walk::Delta::kIsLse:
      return lse;
    case Walk::Delta::kDoubled:
      return 2 * delta;
    case Walk::Delta::kOfTile:
      return of_keys_ ? kNoNumber : delta_of_tile(own, visits, n, lse);
    case Walk::Delta::kRight:
      break;
  }
  return delta;
}

}  // namespace ringcraft::verify
