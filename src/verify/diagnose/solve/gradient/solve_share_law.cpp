// The law by which parts of a gradient go wrong (see share_parts.hpp): each is computed whole, and must give
// every number.
#include <algorithm>
#include <cmath>
#include <set>

#include "verify/diagnose/solve/gradient/share_law.hpp"
#include "verify/diagnose/solve/line_system.hpp"
#include "verify/diagnose/solve/solve_detail.hpp"

namespace ringcraft::verify {
namespace {

using Coefficients = std::vector<double>;  // of all parts of all sums

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

// The factor of the whole by which parts with these coefficients give the first sum that they do not leave
// zero.
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

// What is told better elsewhere: the parts of one step, rank or block are lost or taken twice.
std::vector<ShareLaw> told_elsewhere(int ranks) {
  using Kind = ShareWhich::Kind;
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

// ---- tiles within a block

// Which part of the pairs survives where each tile is stored over the one before; dq has tiles of keys, dk
// and dv of rows.
PairFilter last_tile(const Evidence& e, bool of_keys, Index tile, bool only_seen) {
  return [&e, of_keys, tile, only_seen](int shard, Index i, int block, Index n) {
    const auto rows = static_cast<Index>(e.place.shards[static_cast<std::size_t>(shard)].size()),
               keys = static_cast<Index>(e.place.blocks[static_cast<std::size_t>(block)].size());
    const Index tiles = ((of_keys ? rows : keys) + tile - 1) / tile, mine = (of_keys ? i : n) / tile;
    if (!only_seen) return mine + 1 == tiles;
    const auto seen = [&](Index other) {  // some pair of this tile and the other one
      const Index first_row = (of_keys ? other : i / tile) * tile,
                  first_key = (of_keys ? n / tile : other) * tile;
      for (Index row = first_row; row < std::min(first_row + tile, rows); ++row)
        for (Index key = first_key; key < std::min(first_key + tile, keys); ++key)
          if (sees(e.problem, e.place, {}, shard, row, block, key)) return true;
      return false;
    };
    for (Index later = mine + 1; later < tiles; ++later)
      if (seen(later)) return false;
    return true;
  };
}

std::optional<Cause> cause_of_tiles(const Evidence& e, GradientName name, const Setting& forward,
                                    double threshold) {
  constexpr double kMostPairs = 3e5;
  const BlockProblem& p = e.problem;
  if (static_cast<double>(p.queries.size() * p.keys.size()) * static_cast<double>(p.batch * p.heads) >
      kMostPairs)
    return {};
  const bool of_keys = name != GradientName::kDq;
  std::size_t largest = 0;
  for (const auto& part : of_keys ? e.place.shards : e.place.blocks) largest = std::max(largest, part.size());
  for (Index tile = 1; tile < static_cast<Index>(largest); tile *= 2)
    for (const bool only_seen : {false, true}) {
      const PairFilter filter = last_tile(e, of_keys, tile, only_seen);
      const std::vector<ShareSum> sums = share_sums(e, name, forward, filter);
      const ShareLaw all{.factor = {1, "", ""}};
      ShareLaw stored = all;
      stored.deed = ShareLaw::Deed::kAssigned;
      for (const bool also_steps : {false, true}) {
        if (!gives_claim(sums, coefficients_of(also_steps ? stored : all, e, sums), threshold)) continue;
        const std::string things = of_keys ? "rows" : "keys";
        return Cause{"solved-share-tiles",
                     "within a block each tile of " + std::to_string(tile) + " " + things +
                         " is stored over the tile before it (`=` for `+=`): only the last one" +
                         (only_seen ? " that is computed" : "") + " counts" +
                         (also_steps ? ", and each block is stored over the one before" : ""),
                     "The loop over tiles adds to a sum: where is that sum set to zero, and where stored?"};
      }
    }
  return {};
}

}  // namespace

std::optional<Cause> cause_of_share_law(const Evidence& e, GradientName name, const Setting& forward) {
  const double threshold = yardsticks_of(e).threshold;
  const std::vector<ShareSum> sums = share_sums(e, name, forward);
  if (sums.empty()) return {};
  std::set<Coefficients> tried;
  for (const ShareLaw& law : told_elsewhere(e.place.count())) tried.insert(coefficients_of(law, e, sums));
  for (const ShareLaw& law : share_laws(e, name)) {
    const auto [of_all, is_new] = tried.insert(coefficients_of(law, e, sums));
    if (is_new && gives_claim(sums, *of_all, threshold)) return cause_of(law, e, name);
  }
  return cause_of_tiles(e, name, forward, threshold);
}

std::optional<Cause> cause_of_scaled_share_law(const Evidence& e, GradientName name, const Setting& forward) {
  const double threshold = yardsticks_of(e).threshold, near = is_half(e.precision) ? 2e-2 : 1e-4;
  const std::vector<ShareSum> sums = share_sums(e, name, forward);
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
