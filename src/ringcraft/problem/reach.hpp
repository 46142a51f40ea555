#pragma once
/// @file
/// Reach: how far around a ring each KV block has to travel, from the mask and the layout alone. Every rank
/// computes the same numbers, so all know without a message when the ring may stop.

#include <memory>
#include <vector>

#include "ringcraft/problem/problem.hpp"

namespace ringcraft {

/// [world_size]: for the block of each rank s the largest t such that rank (s + t) mod N sees one of its
/// keys; 0 where no other rank does. Ranks on the way that see nothing of the block still pass it on.
std::vector<int> reaches(const Problem& problem);

/// The same numbers for a problem of any length: from counts of pairs (block_ranges.hpp) instead of tokens.
std::vector<int> reaches_by_pairs(const Problem& problem);

/// The same numbers, shared by all who ask for those of one problem in turn: the ranks of a process compute
/// them once.
std::shared_ptr<const std::vector<int>> shared_reaches(const Problem& problem);

/// The largest reach: how often KV blocks move one rank on. Every rank makes exactly this many exchanges. 0
/// to world_size - 1; min(ceil(W / M), N - 1) for a window W over contiguous shards of M tokens each.
int hops(const Problem& problem);

}  // namespace ringcraft
