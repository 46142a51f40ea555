#pragma once
/// @file
/// Whose keys and values a rank has met in each block: of which batch entry, which key head and which rank.

#include <optional>
#include <vector>

#include "verify/diagnose/match.hpp"

namespace ringcraft::verify {

/// What a wrong block has of others.
enum class Borrowed : std::uint8_t { kBoth, kValues, kKeys };

/// The entry of k and v that stands for one of a block.
struct BlockSource {
  int shard, slot;     ///< whose rows, and whose block it is taken for
  Index batch, head;   ///< of the rows; a key head
  Index query_head;    ///< the first of its query heads that were looked at
  int block;           ///< whose block it is
  Index from, source;  ///< its batch entry and key head

  bool right() const { return block == slot && from == batch && source == head; }
};

/// Of all blocks that are seen, by all entries.
struct BlockSources {
  Borrowed borrowed = Borrowed::kBoth;
  std::vector<BlockSource> all;
  std::vector<int> base_2;  ///< the ranks whose lse is to the base 2
};

/// Why out and lse are wrong, where blocks have keys or values of another batch entry, head or rank.
std::vector<Cause> causes_of_block_sources(const Evidence& evidence);
/// The same in words.
std::vector<Cause> told(const BlockSources& sources, const Evidence& evidence);

}  // namespace ringcraft::verify
