#pragma once
/// @file
/// The parts whose sum is a gradient of a ring, each separately: the contribution of one query head's rows of
/// a shard for the keys of a block, or for a half of either. Internal to the harness.

#include <functional>
#include <vector>

#include "verify/diagnose/solve/gradient/gradient_recipe.hpp"

namespace ringcraft::verify {

/// Identifies a part.
struct Share {
  Index batch, head;       ///< of queries
  int shard, block, step;  ///< step: when the shard meets the block
  int row_half, key_half;  ///< 0: the early one, or all; 1: the late one
  bool seen;               ///< some of its pairs are visible
};

/// A sum: rows of a shard (or keys of a block), or half of them, in one head of one batch entry.
struct ShareSum {
  /// A part and its numbers; empty if none of its pairs is visible.
  struct Part {
    Share share;
    std::vector<double> values;
  };
  std::vector<Part> parts;        ///< in the order of steps, heads, halves
  std::vector<double> claimed;    ///< the claim
  std::vector<double> tolerance;  ///< of each number
};

/// The pairs that count, by the row in its shard and the key in its block.
using PairFilter = std::function<bool(int shard, Index row, int block, Index key)>;

/// Whether zig-zag halves are distinguished.
bool has_halves(const Evidence& evidence);

/// All sums of a gradient; empty if computing them would take too long.
std::vector<ShareSum> share_sums(const Evidence& evidence, GradientName name, const Recipe& recipe,
                                 const PairFilter& filter = {});

/// P and D as they may be before any law applies: from the claimed out and lse; if those are wrong, also from
/// right ones.
std::vector<Recipe> share_recipes(const Evidence& evidence, const Setting& forward);

/// Why a gradient is wrong, if parts of it are lost, overwritten, or multiplied by a wrong factor by a law of
/// steps, ranks, nodes, heads or batch entries; or if tiles of a block overwrite one another.
std::optional<Cause> cause_of_share_law(const Evidence& evidence, GradientName name, const Setting& forward);

/// The same, if the whole gradient has a wrong factor besides.
std::optional<Cause> cause_of_scaled_share_law(const Evidence& evidence, GradientName name,
                                               const Setting& forward);

/// The same, if some parts use another recipe than all others.
std::optional<Cause> cause_of_mixed_recipe(const Evidence& evidence, GradientName name,
                                           const Setting& forward);

/// Why dk or dv is wrong, if ranks that see nothing of a block do not forward the sum that has arrived.
std::optional<Cause> cause_of_skipped_sums(const Evidence& evidence, GradientName name,
                                           const Setting& forward);

/// Why a gradient is slightly wrong, if its running sum or its parts are rounded to a narrower type.
std::optional<Cause> cause_of_rounded_shares(const Evidence& evidence, GradientName name,
                                             const Setting& forward);

}  // namespace ringcraft::verify
