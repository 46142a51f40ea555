// Mistake: imbalance is max / mean - 1 instead of 1 - mean / max.
// Lesson 401: what each rank of a ring computes at each step, what it skips, and how uneven that is (see
// work.hpp). Every figure follows from the problem; nothing is run.
#include "ringcraft/ring/work.hpp"

#include <algorithm>
#include <numeric>

#include "ringcraft/core/error.hpp"

namespace ringcraft {

RingWork ring_work(const Problem& problem) {
  RingWork work;
  const int n = problem.world_size;
  work.by_rank.assign(static_cast<std::size_t>(n), 0);
  for (int t = 0; t <= hops(problem); ++t) {
    std::vector<Index> row;
    for (int i = 0; i < n; ++i) {
      const Index pairs = key_ranges(problem, i, (i - t + n) % n).pairs();
      row.push_back(pairs);
      work.by_rank[static_cast<std::size_t>(i)] += pairs;
      if (pairs == 0) ++work.skipped;
    }
    work.synchronous_cost += *std::max_element(row.begin(), row.end());
    work.pairs.push_back(row);
  }
  const double most = static_cast<double>(*std::max_element(work.by_rank.begin(), work.by_rank.end()));
  const double mean = static_cast<double>(std::accumulate(work.by_rank.begin(), work.by_rank.end(), Index{0})) / n;
  work.imbalance = most / mean - 1;
  return work;
}

}  // namespace ringcraft
