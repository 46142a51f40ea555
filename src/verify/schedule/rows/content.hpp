#pragma once
/// @file
/// Contents of memory as symbols: the tensors of a run, their parts, and sums with the shares that are in
/// them.

#include <compare>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "ringcraft/core/types.hpp"

namespace ringcraft::verify {

/// Neighbouring heads of a tensor.
struct Heads {
  Index first = 0;  ///< the first of them
  Index count = 0;  ///< how many; 0: all that the tensor has

  /// Whether this head is one of them.
  bool has(Index head) const { return count == 0 || (first <= head && head < first + count); }

  friend auto operator<=>(const Heads&, const Heads&) = default;
};

/// One computation in a sum. In dk and dv: the queries that met the keys. In out, lse and dq: the keys.
struct Share {
  int block = 0;  ///< the rank, or row of neighbours, whose tokens they are
  Heads heads;    ///< of the queries; of keys nothing

  /// Of all heads, if none are given.
  Share(int whose, Heads some = {}) : block(whose), heads(some) {}
  friend auto operator<=>(const Share&, const Share&) = default;
};

/// How often each share is in a sum.
class Shares {
 public:
  Shares() = default;
  /// These shares, in their order.
  Shares(std::initializer_list<std::pair<Share, int>> list) : list_(list) {}
  /// Adds this share.
  void add(const Share& share, int count = 1);
  /// How often it is there.
  int count(const Share& share) const;

  std::size_t size() const { return list_.size(); }
  auto begin() const { return list_.begin(); }
  auto end() const { return list_.end(); }
  friend bool operator==(const Shares&, const Shares&) = default;

 private:
  std::vector<std::pair<Share, int>> list_;  // by share; a map would take three times the memory
};

/// The contents of some bytes: [batch, heads, rows, width] of a tensor, or of a sum.
struct Content {
  enum Kind : std::uint8_t {
    kKeys,
    kValues,
    kKeyGradient,
    kValueGradient,
    kQueries,
    kOutGradient,  ///< dout
    kOutput,       ///< O, which becomes out
    kLse,          ///< the row maximum, which becomes lse
    kQueryGradient,
    kRowSum,   ///< l, the row sum
    kNothing,  ///< any sum to which no block has been added
  };

  Kind kind = kKeys;
  int block = 0;     ///< the rank, or row of `joined` neighbours, whose rows they are
  Index bytes = 0;   ///< of the whole tensor
  Shares shares;     ///< of a sum
  int joined = 1;    ///< neighbours whose rows are held together
  Heads heads = {};  ///< of the problem's heads

  /// Whether it is dk or dv.
  bool is_gradient() const { return kind == kKeyGradient || kind == kValueGradient; }
  /// Whether its heads are KV heads.
  bool is_of_keys() const { return kind <= kValueGradient; }
  /// All heads of a rank's own rows.
  bool is_block() const { return joined == 1 && heads == Heads{}; }
  friend bool operator==(const Content&, const Content&) = default;
};

/// "K2", "dV2", "q2", "out2"; of a row of neighbours "K4-7", of some heads "K2 (heads 1-3)".
std::string name_of(const Content& content);

/// "K2": the KV block of a rank.
std::string block_name(int block);

/// "head 1", "heads 1-3".
std::string heads_name(const Heads& heads);

/// "rank 2", "ranks 4-7": number `block` of the rows of `joined` neighbours.
std::string ranks_name(int block, int joined);

}  // namespace ringcraft::verify
