// Mistake: the largest entry is carried over from step to step, so the synchronous cost adds up the largest entry of all steps so far instead of that of each step.
#include "ringcraft/ring/work.hpp"

#include <algorithm>
#include <numeric>

#include "ringcraft/core/error.hpp"

namespace ringcraft {

RingWork ring_work(const Problem& problem) {
  const int n = problem.world_size, steps = hops(problem) + 1;
  RingWork work;
  work.pairs.resize(static_cast<std::size_t>(steps));
  work.by_rank.resize(static_cast<std::size_t>(n));
  Index slowest = 0;
  for (int t = 0; t < steps; ++t) {
    auto& row = work.pairs[static_cast<std::size_t>(t)];
    for (int i = 0; i < n; ++i) {
      const int j = (i - t + n) % n;
      const Index w = key_ranges(problem, i, j).pairs();
      row.push_back(w);
      work.by_rank[static_cast<std::size_t>(i)] += w;
      if (w == 0) ++work.skipped;
      slowest = std::max(slowest, w);
    }
    work.synchronous_cost += slowest;
  }
  Index total = 0, most = 0;
  for (const Index w : work.by_rank) {
    total += w;
    most = std::max(most, w);
  }
  work.imbalance = 1 - static_cast<double>(total) / n / static_cast<double>(most);
  return work;
}

}  // namespace ringcraft
