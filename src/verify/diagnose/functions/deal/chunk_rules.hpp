#pragma once
/// @file
/// Where the borders of chunks may lie, and how long a chunk may be: what nth_chunk is told by.

#include <span>

#include "ringcraft/problem/deal.hpp"

namespace ringcraft::verify {

/// A sequence of `seqlen` tokens cut into `chunks`.
struct CutSize {
  Position seqlen;
  Index chunks;

  Index whole() const { return seqlen / chunks; }
  Index rest() const { return seqlen % chunks; }
  Index rounded_up() const { return (seqlen + chunks - 1) / chunks; }
};

/// A place or a length as a formula of a chunk's number g.
struct ChunkRule {
  const char* words;
  Index (*at)(const CutSize& size, Index g);
};

/// Where chunk g begins: the right rule first.
std::span<const ChunkRule> border_rules();
/// How many tokens chunk g has: the right rule first.
std::span<const ChunkRule> length_rules();

}  // namespace ringcraft::verify
