#pragma once
/// @file
/// The blocks of an all-gather on one rank: its own in slices, and those that have come. Shared by both
/// passes.

#include <vector>

#include "ringcraft/comm/communicator.hpp"
#include "ringcraft/parallel/gather/gather_steps.hpp"
#include "ringcraft/parallel/gather/head_slices.hpp"

namespace ringcraft {

/// Gathers along gather_steps. A block goes only to ranks that see one of its keys; other messages are empty.
class GatherBlocks {
 public:
  /// All arguments outlive it. `own` is the rank's block, with all heads.
  GatherBlocks(Communicator& comm, BlockEngine& engine, const Problem& problem, const HeadSlices& slices,
               const KvBlock& own);

  /// The exchange of a step; nothing if it has none.
  Pending start(const GatherStep& step);
  /// A block that is here. It lives until drop().
  const KvBlock& block(const GatheredBlock& which);
  /// The keys of it that this rank's queries see.
  BlockRanges ranges(const GatheredBlock& which) const;
  /// Frees a block that has been computed.
  void drop(const GatheredBlock& which);

  /// The rank (r - distance) mod N.
  int source(int distance) const { return modulo(comm_.rank() - distance); }
  /// The rank (r + distance) mod N.
  int target(int distance) const { return modulo(comm_.rank() + distance); }
  /// Whether a rank sees a key of another's block.
  bool sees(int rank, int source) const;

 private:
  int modulo(int r) const { return (r + problem_.world_size) % problem_.world_size; }
  const KvBlock& own(int slice);

  Communicator& comm_;
  BlockEngine& engine_;
  const Problem& problem_;
  const HeadSlices& slices_;
  const KvBlock& whole_;
  KvBlock own_[2];                  // by slice modulo 2; unused with one slice
  int owned_[2] = {-1, -1};         // the slice that it is
  std::vector<KvBlock> blocks_[2];  // by slice modulo 2 and distance
};

}  // namespace ringcraft
