// WK8: the table has a row for each rank.
// Fails: causal "step 0, rank 1: 0 pairs, and counting one by one gives 10"
// Hint: Which index of the table comes first, and what does it count?
#include <algorithm>
#include <numeric>

#include "ringcraft/core/error.hpp"
#include "ringcraft/ring/work.hpp"

namespace ringcraft {

RingWork ring_work(const Problem& problem) {
  const int n = problem.world_size, exchanges = hops(problem);
  RingWork work;
  work.by_rank.assign(static_cast<std::size_t>(n), 0);
  for (int t = 0; t <= exchanges; ++t) {
    std::vector<Index>& step = work.pairs.emplace_back();
    for (int rank = 0; rank < n; ++rank) {
      const int source = (rank - t + n) % n;  // whose block the rank holds
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
  std::vector<std::vector<Index>> turned(static_cast<std::size_t>(n));
  for (const auto& step : work.pairs)
    for (std::size_t rank = 0; rank < step.size(); ++rank) turned[rank].push_back(step[rank]);
  work.pairs = turned;
  return work;
}

}  // namespace ringcraft
