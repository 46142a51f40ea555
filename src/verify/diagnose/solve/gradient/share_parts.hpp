#pragma once
/// @file
/// The parts that a gradient of a ring is the sum of, each by itself: what one query head's rows of a shard
/// give for the keys of a block, or a half of either. Not for users of the harness.

#include <functional>
#include <vector>

#include "verify/diagnose/solve/gradient/gradient_recipe.hpp"

namespace ringcraft::verify {

/// Whose part it is.
struct Share {
  Index batch, head;       ///< of queries
  int shard, block, step;  ///< the step is that at which the shard meets the block
  int row_half, key_half;  ///< 0: the early one, or all; 1: the late one
  bool seen;               ///< some of its pairs are
};

/// A sum: rows of a shard (or keys of a block), or half of them, in one head of one batch entry.
struct ShareSum {
  /// A part and its numbers; none if it sees nothing.
  struct Part {
    Share share;
    std::vector<double> values;
  };
  std::vector<Part> parts;        ///< in the order of steps, heads, halves
  std::vector<double> claimed;    ///< what came
  std::vector<double> tolerance;  ///< what each number may be off
};

/// Which pairs count, by the row in its shard and the key in its block.
using PairFilter = std::function<bool(int shard, Index row, int block, Index key)>;

/// Whether zig-zag halves are told apart.
bool has_halves(const Evidence& evidence);

/// All sums of a gradient; empty where it would take too long.
std::vector<ShareSum> share_sums(const Evidence& evidence, GradientName name, const Recipe& recipe,
                                 const PairFilter& filter = {});

/// P and D as they may be before any law: from what was claimed; where that is wrong, also from right out and
/// lse.
std::vector<Recipe> share_recipes(const Evidence& evidence, const Setting& forward);

/// Why a gradient is wrong, where parts of it are lost, overwritten, or get a wrong factor by a law of
/// steps, ranks, nodes, heads or batch entries; or where tiles of a block overwrite one another.
std::optional<Cause> cause_of_share_law(const Evidence& evidence, GradientName name, const Setting& forward);

/// The same, where the whole gradient has a wrong factor besides.
std::optional<Cause> cause_of_scaled_share_law(const Evidence& evidence, GradientName name,
                                               const Setting& forward);

/// The same, where some parts are made by another recipe than all others.
std::optional<Cause> cause_of_mixed_recipe(const Evidence& evidence, GradientName name,
                                           const Setting& forward);

/// Why dk or dv is wrong, where ranks that see nothing of a block do not hand on the sum that has arrived.
std::optional<Cause> cause_of_skipped_sums(const Evidence& evidence, GradientName name,
                                           const Setting& forward);

/// Why a gradient is wrong by little, where its running sum or its parts are rounded to a narrower type.
std::optional<Cause> cause_of_rounded_shares(const Evidence& evidence, GradientName name,
                                             const Setting& forward);

}  // namespace ringcraft::verify
