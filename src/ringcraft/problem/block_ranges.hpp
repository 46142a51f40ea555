#pragma once
/// @file
/// BlockRanges: the key ranges of one block of a distributed problem, as a small value. Most questions need
/// no row: the number of visible pairs follows from the layout and the mask alone. The two integers per row
/// are made when a kernel asks for them.

#include <optional>

#include "ringcraft/problem/key_ranges.hpp"

namespace ringcraft {

struct Problem;

/// The keys of the KV block of one rank that the queries of another see. Made by key_ranges(problem, rank,
/// source); the problem must outlive it. Or of ranges that are at hand. Used by one thread.
class BlockRanges {
 public:
  /// The block of rank `source`, seen by the queries of `rank`.
  BlockRanges(const Problem& problem, int rank, int source)
      : problem_(&problem), rank_(rank), source_(source) {}
  /// These ranges.
  explicit BlockRanges(KeyRanges ranges) : ranges_(std::move(ranges)) {}

  /// Number of visible (query, key) pairs. Short sequences are counted row by row, so that rings of lessons
  /// see what a student's functions say of each row; long ones by counted_pairs.
  Index pairs() const;
  /// Whether there is one.
  bool any() const { return pairs() > 0; }

  /// The ranges row by row, made by the first call.
  const KeyRanges& by_row() const;
  /// The same as an independent value.
  operator KeyRanges() const { return by_row(); }

 private:
  const Problem* problem_ = nullptr;
  int rank_ = 0, source_ = 0;
  mutable std::optional<KeyRanges> ranges_;
  mutable std::optional<Index> pairs_;
};

/// The visible pairs of a block in closed form: in a time that does not depend on the number of tokens, but
/// on that of packed sequences which both shards meet.
Index counted_pairs(const Problem& problem, int rank, int source);

}  // namespace ringcraft
