#pragma once
/// @file
/// The contents of one rank's bytes as symbols: the memory of a replay. It stores pieces, so a block that
/// travels in several messages, or several blocks in one message, are tracked byte by byte.

#include <map>
#include <utility>
#include <vector>

#include "ringcraft/comm/trace.hpp"
#include "verify/schedule/rows/content.hpp"

namespace ringcraft::verify {

/// Some bytes of a content.
struct Piece {
  Index place = 0;          ///< first byte, relative to the span that was read
  Index size = 0;           ///< bytes
  std::size_t content = 0;  ///< number of the Content, given by the user of the memory
  Index offset = 0;         ///< first byte, relative to the content

  friend bool operator==(const Piece&, const Piece&) = default;
};

/// Maps bytes to contents. Bytes that were never written hold nothing.
class SymbolicMemory {
 public:
  /// Stores a whole content in the span.
  void write(TracedBytes span, std::size_t content) { paste(span, {{0, span.size, content, 0}}); }
  /// Stores these pieces in the span, and nothing between them.
  void paste(TracedBytes span, const std::vector<Piece>& pieces);
  /// The contents of the span, in order.
  std::vector<Piece> read(TracedBytes span) const;
  /// Every stored piece with its location (`place` is 0); adjacent pieces that continue each other are one.
  std::vector<std::pair<TracedBytes, Piece>> all() const;

 private:
  struct Stored {
    std::uintptr_t end;
    std::size_t content;
    Index offset;
  };

  void forget(TracedBytes span);
  void insert(std::uintptr_t begin, Stored stored);

  std::map<std::uintptr_t, Stored> pieces_;  // by first byte; they do not overlap
};

}  // namespace ringcraft::verify
