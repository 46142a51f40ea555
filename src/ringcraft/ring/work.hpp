#pragma once
/// @file
/// The work of a ring, before it runs: how many visible pairs every rank meets at every step, which blocks it
/// skips, and which ranks will wait for which. Computed from the problem alone.

#include <tuple>
#include <vector>

#include "ringcraft/problem/reach.hpp"

namespace ringcraft {

/// Work is counted in visible (query, key) pairs of one head.
struct RingWork {
  /// [steps][ranks]: rank i at step t, against the block of rank (i - t) mod N; t from 0 to hops(problem).
  std::vector<std::vector<Index>> pairs;
  /// Entries of `pairs` that are 0: blocks that a rank does not compute with, whether they come to it or not.
  int skipped = 0;
  /// [ranks]: the columns of `pairs` added up.
  std::vector<Index> by_rank;
  /// How long the ring takes if all ranks wait for each other after every step: the sum over the steps of the
  /// largest entry.
  Index synchronous_cost = 0;
  /// 1 - mean / max of by_rank: the share of the time that ranks have nothing to do while the busiest one
  /// works.
  double imbalance = 0;

  static auto fields(auto& self) {
    return std::tie(self.pairs, self.skipped, self.by_rank, self.synchronous_cost, self.imbalance);
  }
};

/// The work of a ring over this problem.
RingWork ring_work(const Problem& problem);

/// The synchronous cost for a kernel that skips empty tiles and computes all others whole: the sum over the
/// steps of the largest number of tiles of tile x tile that a rank does not skip. `tile` is at least 1.
Index synchronous_tiles(const Problem& problem, int tile);

}  // namespace ringcraft
