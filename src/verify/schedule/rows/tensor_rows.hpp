#pragma once
/// @file
/// Where each row of a tensor stands in its bytes, for tensors of some heads and of one rank or of neighbours
/// together. With it pieces of memory that copies and parcels have put together are known again as a tensor.

#include <deque>
#include <optional>
#include <set>
#include <utility>

#include "ringcraft/problem/problem.hpp"
#include "verify/schedule/symbolic_memory.hpp"

namespace ringcraft::verify {

/// The tensors of one problem whose heads are dealt among `degree` neighbours, 1: among none.
class TensorRows {
 public:
  /// The problem outlives it; `degree` divides its ranks.
  TensorRows(const Problem& problem, int degree);

  /// Neighbours that deal heads.
  int degree() const { return degree_; }
  /// The problem that computations are part of: its ranks are rows of `degree` neighbours.
  const Problem& units() const { return units_; }

  /// The heads as numbers, all of them if it has all.
  Heads heads_of(const Content& content) const;
  /// The heads `first` to `first + count`, or {} if these are all heads of this kind of tensor.
  Heads heads(Content::Kind kind, Index first, Index count) const;
  /// The query heads that share a KV head.
  Heads query_heads(Index kv_head) const;

  /// A row that is not where it belongs.
  struct Wrong {
    Index head = 0;         ///< the row that is expected
    Position position = 0;  ///< its token
    std::string found;      ///< what is there
  };
  /// One head of a content; contents by number.
  using UsedHeads = std::set<std::pair<std::size_t, Index>>;

  /// The first row in which these pieces, which fill want.bytes, are not those of `want`; its shares may be
  /// any. Adds the heads that are there to `used`, unless it is null.
  std::optional<Wrong> differs(const std::vector<Piece>& pieces, const Content& want,
                               const std::deque<Content>& contents, UsedHeads* used = nullptr);
  /// The tensor of `kind` that these pieces make: rows of neighbours of which the first row is one, as many
  /// heads as fit, and no shares. Nothing if they make none.
  std::optional<Content> made_of(const std::vector<Piece>& pieces, Index bytes, Content::Kind kind,
                                 const std::deque<Content>& contents);

 private:
  // A byte of a tensor.
  struct Spot {
    Index batch = 0, head = 0, row = 0, byte = 0;
  };

  const std::vector<Position>& positions(int block, int joined);
  Index rows(const Content& content) { return std::ssize(positions(content.block, content.joined)); }
  Index row_bytes(const Content& content);  // 0: these are no rows
  Spot spot(const Content& content, Index byte);
  Index all_heads(Content::Kind kind) const;

  const Problem& problem_;
  int degree_;
  Problem units_;
  std::map<std::pair<int, int>, std::vector<Position>> positions_;  // by joined and block
};

}  // namespace ringcraft::verify
