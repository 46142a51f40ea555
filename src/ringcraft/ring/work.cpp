// Lesson 401: the pairs that each rank of a ring computes at each step, the blocks that it skips, and the
// imbalance. Every figure follows from the problem; nothing is run.
#include "ringcraft/ring/work.hpp"

#include <algorithm>
#include <numeric>

#include "ringcraft/core/error.hpp"

namespace ringcraft {

RingWork ring_work(const Problem& problem) {
  // BEGIN SOLUTION 401 [ring_work]
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
  return work;
  // END SOLUTION [ring_work]
}

}  // namespace ringcraft
