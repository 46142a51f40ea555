#pragma once
/// @file
/// The exercises of this lesson: the groups of a rank, its walk over two levels of links, and the two methods
/// that ask them.

#include <cstring>

#include "judge/wire/exercise.hpp"
#include "ringcraft/parallel/double_ring/two_level_walk.hpp"
#include "ringcraft/parallel/hybrid/rank_grid.hpp"
#include "ringcraft/parallel/method.hpp"

namespace ringcraft::judge {

/// Results of both passes on one rank.
struct BothPasses {
  Output output;
  Gradients gradients;
  static auto fields(auto& self) { return std::tie(self.output, self.gradients); }
};

/// The same bytes again: a method takes its tensors away.
inline Buffer again(const Buffer& tensor) {
  Buffer copy(tensor.extents(), tensor.dtype());
  std::memcpy(copy.bytes().data(), tensor.bytes().data(), tensor.bytes().size());
  return copy;
}

/// Both passes of a method on one rank.
inline BothPasses both_passes(const Method& method, Communicator& comm, BlockEngine& engine,
                              const Problem& problem, const MethodOptions& options, const Buffer& q,
                              const KvBlock& kv, const Buffer& dout) {
  HostPlace place(comm, engine);
  Forward forward = method.forward(place, problem, options, again(q), {again(kv.k), again(kv.v)});
  Gradients gradients = method.backward(place, problem, options, forward, dout);
  return {std::move(forward.output), std::move(gradients)};
}

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
