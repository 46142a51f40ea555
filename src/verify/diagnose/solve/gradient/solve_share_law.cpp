// Finds the law by which parts of a gradient are lost or changed: evaluates each candidate as a whole, which
// must give every number.
#include <algorithm>
#include <cmath>
#include <set>

#include "verify/diagnose/solve/gradient/share_law.hpp"
#include "verify/diagnose/solve/line_system.hpp"
#include "verify/diagnose/solve/solve_detail.hpp"

namespace ringcraft::verify {
namespace {

using Coefficients = std::vector<double>;  // of all parts of all sums
using Kind = ShareWhich::Kind;

// Whether parts with these coefficients give the claimed sums.
bool gives_claim(const std::vector<ShareSum>& sums, const Coefficients& of_all, double threshold) {
  std::size_t at = 0;
  for (const ShareSum& sum : sums) {
    std::vector<double> left = sum.claimed;
    for (const ShareSum::Part& part : sum.parts) {
      const double x = of_all[at++];
      if (x == 0) continue;
      for (std::size_t i = 0; i < part.values.size(); ++i) left[i] -= x * part.values[i];
    }
    for (std::size_t i = 0; i < left.size(); ++i) left[i] /= sum.tolerance[i];
    if (!(residual_of(left, 0) <= threshold)) return false;
  }
  return true;
}

Coefficients coefficients_of(const ShareLaw& law, const Evidence& e, const std::vector<ShareSum>& sums) {
  Coefficients all;
  for (const ShareSum& sum : sums) {
    const std::vector<double> some = coefficients(law, e, sum);
    all.insert(all.end(), some.begin(), some.end());
  }
  return all;
}

// The overall factor with which parts with these coefficients give the first sum that they do not leave zero.
std::optional<double> factor_beside(const std::vector<ShareSum>& sums, const Coefficients& of_all) {
  std::size_t at = 0;
  for (const ShareSum& sum : sums) {
    std::vector<double> made(sum.claimed.size(), 0.0);
    for (const ShareSum::Part& part : sum.parts) {
      const double x = of_all[at++];
      for (std::size_t i = 0; i < part.values.size() && x != 0; ++i) made[i] += x * part.values[i];
    }
    double product = 0, square = 0;
    for (std::size_t i = 0; i < made.size(); ++i)
      product += made[i] * sum.claimed[i], square += made[i] * made[i];
    if (square > 0) return product / square;
  }
  return {};
}

// Laws that other parts of the diagnosis explain better: the parts of one step, rank or block are lost or
// taken twice.
std::vector<ShareLaw> told_elsewhere(int ranks) {
  std::vector<ShareLaw> all;
  const auto add = [&](const ShareWhich& which) {
    for (const double factor : {0.0, 2.0}) all.push_back({.which = which, .factor = {factor, "", ""}});
  };
  for (const Kind kind : {Kind::kAll, Kind::kOwn, Kind::kReceived, Kind::kEarlier, Kind::kLater}) add({kind});
  for (int k = 0; k < ranks; ++k)
    for (const Kind kind : {Kind::kStep, Kind::kFromStep, Kind::kUpToStep, Kind::kShard, Kind::kBlock})
      add({kind, k});
  all.push_back({.factor = {1, "", ""}});
  return all;
}

}  // namespace

bool gives_claim(const std::vector<ShareSum>& sums, const ShareLaw& law, const Evidence& e) {
  return !sums.empty() && gives_claim(sums, coefficients_of(law, e, sums), yardsticks_of(e).threshold);
}

std::optional<Cause> cause_of_share_law(const Evidence& e, GradientName name, const Setting& forward) {
  const double threshold = yardsticks_of(e).threshold;
  for (const Recipe& recipe : share_recipes(e, forward)) {
    const std::vector<ShareSum> sums = share_sums(e, name, recipe);
    if (sums.empty()) return {};
    std::set<Coefficients> tried;
    for (const ShareLaw& law : told_elsewhere(e.place.count())) tried.insert(coefficients_of(law, e, sums));
    for (const ShareLaw& law : share_laws(e, name)) {
      const auto [of_all, is_new] = tried.insert(coefficients_of(law, e, sums));
      if (is_new && gives_claim(sums, *of_all, threshold)) return cause_of(law, e, name);
    }
  }
  return cause_of_lost_pairs(e, name, forward);
}

std::optional<Cause> cause_of_scaled_share_law(const Evidence& e, GradientName name, const Setting& forward) {
  const double threshold = yardsticks_of(e).threshold, near = is_half(e.precision) ? 2e-2 : 1e-4;
  const std::vector<ShareSum> sums = share_sums(e, name, {.setting = forward});
  if (sums.empty()) return {};
  std::set<Coefficients> tried;
  std::vector<ShareLaw> laws = told_elsewhere(e.place.count());
  const std::vector<ShareLaw> others = share_laws(e, name);
  laws.insert(laws.end(), others.begin(), others.end());
  for (const ShareLaw& law : laws) {
    const auto [of_all, is_new] = tried.insert(coefficients_of(law, e, sums));
    const std::optional<double> factor = is_new ? factor_beside(sums, *of_all) : std::nullopt;
    if (!factor) continue;
    for (const ShareLaw::Factor& known : share_factors(e, name)) {
      if (!(std::fabs(*factor / known.value - 1) < near)) continue;
      Coefficients scaled = *of_all;
      for (double& x : scaled) x *= known.value;
      if (!gives_claim(sums, scaled, threshold)) continue;
      Cause cause = cause_of(law, e, name);
      cause.sentence += "; and all parts are " + known.words;
      return cause;
    }
  }
  return {};
}

}  // namespace ringcraft::verify
