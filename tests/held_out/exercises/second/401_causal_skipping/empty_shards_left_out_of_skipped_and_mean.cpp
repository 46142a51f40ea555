// Mistake: blocks of a rank without rows, or met by one, are not counted as skipped instead of being counted like every entry that is 0; and the mean in the imbalance is taken over the ranks that have work at all instead of all ranks.
#include "ringcraft/ring/work.hpp"

#include <algorithm>
#include <numeric>

#include "ringcraft/core/error.hpp"

namespace ringcraft {

RingWork ring_work(const Problem& problem) {
  const int n = problem.world_size, exchanges = hops(problem);
  const Sharding sharding = problem.sharding();
  RingWork work;
  work.by_rank.assign(static_cast<std::size_t>(n), 0);
  for (int t = 0; t <= exchanges; ++t) {
    std::vector<Index> step;
    for (int rank = 0; rank < n; ++rank) {
      const int source = (rank - t + n) % n;
      const Index pairs = key_ranges(problem, rank, source).pairs();
      const bool there = sharding.rows(rank) > 0 && sharding.rows(source) > 0;
      if (there && pairs == 0) ++work.skipped;
      work.by_rank[static_cast<std::size_t>(rank)] += pairs;
      step.push_back(pairs);
    }
    work.synchronous_cost += *std::max_element(step.begin(), step.end());
    work.pairs.push_back(step);
  }
  const Index total = std::accumulate(work.by_rank.begin(), work.by_rank.end(), Index{0});
  const Index busiest = *std::max_element(work.by_rank.begin(), work.by_rank.end());
  const auto idle = std::count(work.by_rank.begin(), work.by_rank.end(), Index{0});
  const double mean = static_cast<double>(total) / static_cast<double>(n - idle);
  work.imbalance = 1 - mean / static_cast<double>(busiest);
  return work;
}

}  // namespace ringcraft
