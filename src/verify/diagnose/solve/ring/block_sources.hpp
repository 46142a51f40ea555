#pragma once
/// @file
/// Finds the batch entry, the key head and the rank whose keys and values a rank used in each block.

#include <optional>
#include <vector>

#include "verify/diagnose/match.hpp"

namespace ringcraft::verify {

/// The data that a wrong block takes from another one.
enum class Borrowed : std::uint8_t { kBoth, kValues, kKeys };

/// The entry of k and v that is used for one of a block.
struct BlockSource {
  int shard, slot;     ///< shard of the rows, and the block that was expected
  Index batch, head;   ///< of the rows; a key head
  Index query_head;    ///< the first of its sampled query heads
  int block;           ///< the block that was used
  Index from, source;  ///< its batch entry and key head

  bool right() const { return block == slot && from == batch && source == head; }
};

/// The sources of all visible blocks, for all entries.
struct BlockSources {
  Borrowed borrowed = Borrowed::kBoth;
  std::vector<BlockSource> all;
  std::vector<int> base_2;  ///< the ranks whose lse has base 2
};

/// Why out and lse are wrong, if blocks have keys or values of another batch entry, head or rank.
std::vector<Cause> causes_of_block_sources(const Evidence& evidence);
/// Describes these sources as causes.
std::vector<Cause> told(const BlockSources& sources, const Evidence& evidence);

}  // namespace ringcraft::verify
