// Mistake: synchronous_cost is the largest sum of a rank over all steps instead of the sum over the steps of the largest entry.
// Lesson 401: what each rank of a ring computes at each step, what it skips, and how uneven that is (see
// work.hpp). Every figure follows from the problem; nothing is run.
#include "ringcraft/ring/work.hpp"

#include <algorithm>
#include <numeric>


namespace ringcraft {

RingWork ring_work(const Problem& problem) {
  RingWork work;
  const int n = problem.world_size;
  work.by_rank.assign(static_cast<std::size_t>(n), 0);
  for (int t = 0; t <= hops(problem); ++t) {
    std::vector<Index>& row = work.pairs.emplace_back();
    for (int rank = 0; rank < n; ++rank) {
      const Index pairs = key_ranges(problem, rank, (rank - t + n) % n).pairs();
      row.push_back(pairs);
      work.by_rank[static_cast<std::size_t>(rank)] += pairs;
      if (pairs == 0) ++work.skipped;
    }
  }
  const Index busiest = *std::max_element(work.by_rank.begin(), work.by_rank.end());
  work.synchronous_cost = busiest;
  const double mean = static_cast<double>(std::accumulate(work.by_rank.begin(), work.by_rank.end(), Index{0})) / n;
  work.imbalance = 1 - mean / static_cast<double>(busiest);
  return work;
}

}  // namespace ringcraft
