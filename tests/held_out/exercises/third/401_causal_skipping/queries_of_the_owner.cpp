// Mistake: entry [t][i] counts the pairs of the queries of the block's owner (i - t) mod N with the keys of rank i, i.e. key_ranges is called with rank and source exchanged, instead of the queries of rank i with the keys of the owner's block; all other figures follow rightly from this wrong table.
// Lesson 401: what each rank of a ring computes at each step, what it skips, and how uneven that is (see
// work.hpp). Every figure follows from the problem; nothing is run.
#include "ringcraft/ring/work.hpp"

#include <algorithm>
#include <functional>
#include <numeric>

#include "ringcraft/core/error.hpp"

namespace ringcraft {

namespace {

// Visible pairs of a rank and the block that it holds.
Index pairs_between(const Problem& problem, int keeper, int owner) {
  return key_ranges(problem, owner, keeper).pairs();
}

Index largest(const std::vector<Index>& numbers) { return *std::max_element(numbers.begin(), numbers.end()); }

}  // namespace

RingWork ring_work(const Problem& problem) {
  const int n = problem.world_size;
  RingWork work;
  work.by_rank.resize(static_cast<std::size_t>(n));
  for (int t = 0, last = hops(problem); t <= last; ++t) {
    std::vector<Index> row;
    int owner = (n - t) % n;
    for (int rank = 0; rank < n; ++rank, owner = (owner + 1) % n)
      row.push_back(pairs_between(problem, rank, owner));
    std::transform(row.begin(), row.end(), work.by_rank.begin(), work.by_rank.begin(), std::plus<>());
    work.skipped += static_cast<int>(std::count(row.begin(), row.end(), Index{0}));
    work.synchronous_cost += largest(row);
    work.pairs.push_back(std::move(row));
  }
  Index total = 0;
  for (const Index pairs : work.by_rank) total += pairs;
  const double fair = static_cast<double>(total) / n;
  work.imbalance = 1 - fair / static_cast<double>(largest(work.by_rank));
  return work;
}

}  // namespace ringcraft
