#pragma once
/// @file
/// Rules for the borders and lengths of chunks, by which a wrong nth_chunk is described.

#include <cstdint>
#include <span>

#include "ringcraft/problem/deal.hpp"

namespace ringcraft::verify {

/// A sequence of `seqlen` tokens cut into `chunks`.
struct CutSize {
  Position seqlen;
  Index chunks;
  bool narrow_whole = false;  ///< keeps whole() in 32 bits

  Index whole() const {
    const Index whole = seqlen / chunks;
    return narrow_whole ? static_cast<std::int32_t>(whole) : whole;
  }
  Index rest() const { return seqlen % chunks; }
  Index rounded_up() const { return (seqlen + chunks - 1) / chunks; }
};

/// A position or a length as a formula of a chunk's number g.
struct ChunkRule {
  const char* words;
  Index (*at)(const CutSize& size, Index g);
};

/// Begin of chunk g: the right rule first.
std::span<const ChunkRule> border_rules();
/// Tokens of chunk g: the right rule first.
std::span<const ChunkRule> length_rules();

}  // namespace ringcraft::verify
