#pragma once
/// @file
/// The exercises of this lesson: the groups of a rank, its walk over two levels of links, and the two methods
/// that ask them.


#include "judge/wire/both_passes.hpp"
#include "judge/wire/exercise.hpp"
#include "ringcraft/parallel/double_ring/two_level_walk.hpp"
#include "ringcraft/parallel/hybrid/rank_grid.hpp"

namespace ringcraft::judge {

/// The hybrid, with rows of `degree` ranks.
inline BothPasses hybrid_passes(Communicator& comm, BlockEngine& engine, const Problem& problem, int degree,
                                const Buffer& q, const KvBlock& kv, const Buffer& dout) {
  return both_passes(kHybrid, comm, engine, problem, {.ulysses = degree}, q, kv, dout);
}

/// The double ring, with nodes of `node` ranks.
inline BothPasses double_ring_passes(Communicator& comm, BlockEngine& engine, const Problem& problem,
                                     int node, const Buffer& q, const KvBlock& kv, const Buffer& dout) {
  return both_passes(kDoubleRing, comm, engine, problem, {.node = node}, q, kv, dout);
}

using RankGroups = Exercise<&ringcraft::grid_groups, "grid_groups">;
using TwoLevelWalk = Exercise<&ringcraft::two_level_walk, "two_level_walk">;
using HybridPasses = Exercise<&hybrid_passes, "hybrid">;
using DoubleRingPasses = Exercise<&double_ring_passes, "double_ring">;

}  // namespace ringcraft::judge
