// Recognises gradients that lose pairs within a block, because tiles overwrite one another or loops end at
// the shortest shard, and parts computed by another recipe.
#include <algorithm>

#include "verify/diagnose/solve/gradient/share_law.hpp"
#include "verify/diagnose/solve/line_system.hpp"
#include "verify/diagnose/solve/solve_detail.hpp"

namespace ringcraft::verify {
namespace {

const ShareLaw kEachOnce{.factor = {1, "", ""}};

bool is_small(const Evidence& e) {
  constexpr double kMostLostPairs = 3e5;
  const BlockProblem& p = e.problem;
  return static_cast<double>(p.queries.size() * p.keys.size()) * static_cast<double>(p.batch * p.heads) <=
         kMostLostPairs;
}

// The pairs that survive if each tile overwrites the one before; dq has tiles of keys, dk and dv of rows.
PairFilter last_tile(const Evidence& e, bool of_keys, Index tile, bool only_seen) {
  return [&e, of_keys, tile, only_seen](int shard, Index i, int block, Index n) {
    const auto rows = static_cast<Index>(e.place.shards[static_cast<std::size_t>(shard)].size()),
               keys = static_cast<Index>(e.place.blocks[static_cast<std::size_t>(block)].size());
    const Index tiles = ((of_keys ? rows : keys) + tile - 1) / tile, mine = (of_keys ? i : n) / tile;
    if (!only_seen) return mine + 1 == tiles;
    const auto seen = [&](Index other) {  // some pair of this tile and the other one is visible
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

std::optional<Cause> cause_of_tiles(const Evidence& e, GradientName name, const Setting& forward) {
  const bool of_keys = name != GradientName::kDq;
  std::size_t largest = 0;
  for (const auto& part : of_keys ? e.place.shards : e.place.blocks) largest = std::max(largest, part.size());
  ShareLaw stored = kEachOnce;
  stored.deed = ShareLaw::Deed::kAssigned;
  for (const bool also_steps : {false, true})
    for (const bool only_seen : {false, true}) {
      std::string tiles;
      for (Index tile = 1; tile < static_cast<Index>(largest); tile *= 2)
        if (gives_claim(share_sums(e, name, {.setting = forward}, last_tile(e, of_keys, tile, only_seen)),
                        also_steps ? stored : kEachOnce, e))
          tiles += (tiles.empty() ? "" : " or ") + std::to_string(tile);
      if (tiles.empty()) continue;
      return Cause{"solved-share-tiles",
                   "within a block each tile (of " + tiles + " " + (of_keys ? "rows" : "keys") +
                       ") is stored over the tile before it (`=` for `+=`): only the last one" +
                       (only_seen ? " that is computed" : "") + " counts" +
                       (also_steps ? ", and each block is stored over the one before" : ""),
                   "The loop over tiles adds to a sum: where is that sum set to zero, and where stored?"};
    }
  return {};
}

// The cause if shards have unequal lengths, and buffers or loops have that of the shortest one.
std::optional<Cause> cause_of_shortest(const Evidence& e, GradientName name, const Setting& forward) {
  std::size_t shortest = e.problem.keys.size(), longest = 0;
  for (const auto& part : e.place.blocks)
    shortest = std::min(shortest, part.size()), longest = std::max(longest, part.size());
  if (shortest == longest) return {};
  const auto most = static_cast<Index>(shortest);
  for (const bool received : {false, true})
    for (const auto& [rows, keys] : {std::pair{true, false}, std::pair{false, true}, std::pair{true, true}}) {
      const PairFilter filter = [=](int shard, Index i, int block, Index n) {
        return (received && shard == block) || ((!rows || i < most) && (!keys || n < most));
      };
      if (!gives_claim(share_sums(e, name, {.setting = forward}, filter), kEachOnce, e)) continue;
      return Cause{"solved-shortest",
                   std::string(rows && keys ? "rows and keys"
                               : rows       ? "rows"
                                            : "keys") +
                       " beyond the first " + std::to_string(most) +
                       ", the length of the shortest shard, are lost" +
                       (received ? " of blocks that arrive" : ""),
                   "Shards differ in length: how long are the buffers and the loops of each rank?"};
    }
  return {};
}

}  // namespace

std::optional<Cause> cause_of_lost_pairs(const Evidence& e, GradientName name, const Setting& forward) {
  if (e.ring == nullptr || e.place.count() < 2 || !is_small(e)) return {};
  if (const auto cause = cause_of_shortest(e, name, forward)) return cause;
  return cause_of_tiles(e, name, forward);
}

std::optional<Cause> cause_of_mixed_recipe(const Evidence& e, GradientName name, const Setting& forward) {
  const std::vector<Recipe> recipes = recipes_of(e, name, forward);
  std::vector<ShareSum> sums = is_small(e) ? share_sums(e, name, recipes.front()) : std::vector<ShareSum>{};
  if (sums.empty()) return {};
  const int ranks = e.place.count();
  for (const Recipe& recipe : recipes) {
    // In 16 bits factors of the scores that are close to each other (ln 2 and 1 / sqrt(2)) give the same
    // parts.
    if (is_half(e.precision) && !recipe.setting.scale_words.empty()) continue;
    if (recipe.group != Recipe::Group::kSum || recipe.product != Recipe::Product::kRight ||
        recipe.k_data != Recipe::Data::kRight || adds_hidden_pairs(recipe))
      continue;
    const std::vector<ShareSum> others = share_sums(e, name, recipe);
    for (const ShareWhich& which : plain_parts(ranks)) {
      if (which.kind == ShareWhich::Kind::kAll) continue;
      const auto fits = [&](std::size_t s) {
        ShareSum mixed = sums[s];
        for (std::size_t i = 0; i < mixed.parts.size(); ++i)
          if (holds(which, ranks, mixed.parts[i].share)) mixed.parts[i].values = others[s].parts[i].values;
        return gives_claim({std::move(mixed)}, kEachOnce, e);
      };
      bool all = true;
      for (std::size_t s = 0; s < sums.size() && all; ++s) all = fits(s);
      std::vector<Cause> causes = all ? causes_of(recipe, name, forward, e.place) : std::vector<Cause>{};
      if (causes.empty()) continue;
      causes[0].sentence = "in " + parts_words(which, ranks).first + " " + causes[0].sentence;
      return causes[0];
    }
  }
  return {};
}

}  // namespace ringcraft::verify
