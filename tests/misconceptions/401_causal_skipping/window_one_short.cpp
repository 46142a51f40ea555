// SW4: counts floor(W / M) exchanges, one too few where a window grazes a shard.
// Fails: windows
// Hint: How many shards can a window of W reach back into?
#include <algorithm>
#include <numeric>

#include "ringcraft/ring/work.hpp"

namespace ringcraft {

namespace {

int exchanges_of(const Problem& problem) {
  const Index rows = std::max<Index>(1, problem.sharding().largest_rows());
  if (problem.layout != Layout::kContiguous || problem.mask.left == kNoLimit) return hops(problem);
  return std::min(problem.world_size - 1, static_cast<int>(problem.mask.left / rows));
}

}  // namespace

RingWork ring_work(const Problem& problem) {
  const int n = problem.world_size, exchanges = exchanges_of(problem);
  RingWork work;
  work.by_rank.assign(static_cast<std::size_t>(n), 0);
  for (int t = 0; t <= exchanges; ++t) {
    std::vector<Index>& step = work.pairs.emplace_back();
    for (int rank = 0; rank < n; ++rank) {
      const int source = (rank - t + n) % n;
      const Index pairs = key_ranges(problem, rank, source).pairs();
      step.push_back(pairs);
      work.by_rank[static_cast<std::size_t>(rank)] += pairs;
      work.skipped += pairs == 0 ? 1 : 0;
    }
    work.synchronous_cost += *std::max_element(step.begin(), step.end());
  }
  const Index total = std::accumulate(work.by_rank.begin(), work.by_rank.end(), Index{0});
  const Index busiest = *std::max_element(work.by_rank.begin(), work.by_rank.end());
  work.imbalance = 1 - static_cast<double>(total) / n / static_cast<double>(busiest);
  return work;
}

}  // namespace ringcraft
