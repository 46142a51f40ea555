#pragma once
/// @file
/// What the bytes of one rank hold, as symbols: the memory of a replay. It knows pieces, so a block that
/// travels in several messages, or several that travel in one, are followed byte by byte.

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ringcraft/comm/trace.hpp"

namespace ringcraft::verify {

/// The contents of some bytes: the keys or values of a rank's block, or gradients of them.
struct Content {
  enum Kind : std::uint8_t { kKeys, kValues, kKeyGradient, kValueGradient };

  Kind kind = kKeys;
  int block = 0;              ///< the rank that owns the block
  Index bytes = 0;            ///< of the whole tensor
  std::map<int, int> shares;  ///< of a gradient: how often the share of each rank is in the sum

  /// Whether it is dk or dv.
  bool is_gradient() const { return kind == kKeyGradient || kind == kValueGradient; }
  friend bool operator==(const Content&, const Content&) = default;
};

/// "K2", "V2", "dK2", "dV2".
std::string name_of(const Content& content);

/// "K2": the KV block of a rank.
std::string block_name(int block);

/// Some bytes of a content.
struct Piece {
  Index place = 0;          ///< first byte, counted in the span that was read
  Index size = 0;           ///< bytes
  std::size_t content = 0;  ///< number of the Content, given by the user of the memory
  Index offset = 0;         ///< first byte, counted in the content

  friend bool operator==(const Piece&, const Piece&) = default;
};

/// Which bytes hold what. What was never written holds nothing.
class SymbolicMemory {
 public:
  /// The span holds the whole of a content from here on.
  void write(TracedBytes span, std::size_t content) { paste(span, {{0, span.size, content, 0}}); }
  /// The span holds these pieces, and nothing between them.
  void paste(TracedBytes span, const std::vector<Piece>& pieces);
  /// What the span holds, in order.
  std::vector<Piece> read(TracedBytes span) const;
  /// Every piece that is stored and where it lies (`place` is 0); neighbours that belong together are one.
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
