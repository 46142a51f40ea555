#pragma once
/// @file
/// The exercises of this lesson: which heads go to which neighbour, and where the rows of a shard stand among
/// those of all neighbours. Rows are counted. And a hybrid that asks both, forward and backward.

#include "judge/wire/both_passes.hpp"
#include "judge/wire/exercise.hpp"
#include "judge/worker/steps.hpp"
#include "ringcraft/parallel/hybrid/dealt_heads.hpp"

namespace ringcraft::judge {

/// The rows of one rank, and the steps that they took.
struct CountedRows {
  std::vector<Index> rows;
  std::int64_t steps = 0;
  static auto fields(auto& self) { return std::tie(self.rows, self.steps); }
};

/// Calls joined_rows once.
inline CountedRows counted_rows(const Problem& problem, int degree, int rank) {
  CountedRows counted;
  counted.steps = steps_of([&] { counted.rows = joined_rows(problem.sharding(), degree, rank); });
  return counted;
}

/// Ulysses among `degree` neighbours, and rings across them.
inline BothPasses exchange_heads(Communicator& comm, BlockEngine& engine, const Problem& problem, int degree,
                                 const Buffer& q, const KvBlock& kv, const Buffer& dout) {
  return both_passes(kHybrid, comm, engine, problem, {.ulysses = degree}, q, kv, dout);
}

using HeadsDealt = Exercise<&ringcraft::dealt_heads, "dealt_heads">;
using RowsJoined = Exercise<&counted_rows, "joined_rows">;
using HeadsExchanged = Exercise<&exchange_heads, "exchange_heads">;

}  // namespace ringcraft::judge
