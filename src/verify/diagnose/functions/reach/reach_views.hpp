#pragma once
/// @file
/// One problem of reaches as the diagnosis looks at it: under any of the ways in which a student may read the
/// mask, the layout and the shards.

#include <map>
#include <tuple>
#include <vector>

#include "ringcraft/problem/problem.hpp"

namespace ringcraft::verify {

/// The mask and the places of tokens that are looked at.
struct ReachReading {
  const char* words;  ///< nullptr: the right ones
  void (*change)(Problem&);
};

/// The keys that a shard of queries is said to see.
struct ShardSight {
  Problem problem;
  std::vector<Position> queries, keys;

  /// The interval of this query.
  KeyInterval interval(Position query) const {
    return MaskCursor(problem.mask, problem.shape.seqlen).at(query);
  }
};

/// A way to decide whether a shard sees another one.
struct SightWord {
  const char* words;  ///< nullptr: the right one
  bool (*sees)(const ShardSight&);
};

/// Whether a rank sees a key of a block, [query rank * N + key rank].
using SightTable = std::vector<bool>;

/// A problem and its tables; each is computed once.
class ReachView {
 public:
  ReachView(const Problem& problem, const std::vector<int>& got) : problem_(&problem), got_(&got) {}

  const Problem& problem() const { return *problem_; }
  const std::vector<int>& got() const { return *got_; }
  int ranks() const { return problem_->world_size; }
  /// The table under two readings at once, one of which may be the right one, and one way to decide.
  const SightTable& table(const ReachReading& reading, const ReachReading& also,
                          const SightWord& sight) const;

 private:
  const Problem* problem_;
  const std::vector<int>* got_;
  mutable std::map<std::tuple<const ReachReading*, const ReachReading*, const SightWord*>, SightTable>
      tables_;
};

/// Whether one of the queries sees one of the keys, pair by pair.
bool sees_any(const ShardSight& shards);

}  // namespace ringcraft::verify
