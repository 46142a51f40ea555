// Mistake: `skipped` is world_size * world_size minus the number of entries that are not 0, instead of the number of entries of the table that are 0: when the ring makes fewer than world_size - 1 hops, blocks of steps which never take place are counted as skipped too. All else is right.
// Lesson 401: what each rank of a ring computes at each step, what it skips, and how uneven that is (see
// work.hpp). Every figure follows from the problem; nothing is run.
#include "ringcraft/ring/work.hpp"

#include <algorithm>
#include <numeric>

#include "ringcraft/core/error.hpp"

namespace ringcraft {

RingWork ring_work(const Problem& problem) {
  const int n = problem.world_size, steps = hops(problem) + 1;
  RingWork work;
  work.by_rank.resize(static_cast<std::size_t>(n));
  int computed = 0;  // blocks with at least one visible pair
  for (int t = 0; t < steps; ++t) {
    std::vector<Index> step(static_cast<std::size_t>(n));
    for (int i = 0; i < n; ++i) {
      const Index w = key_ranges(problem, i, (i + n - t) % n).pairs();
      step[static_cast<std::size_t>(i)] = w;
      work.by_rank[static_cast<std::size_t>(i)] += w;
      if (w != 0) ++computed;
    }
    work.synchronous_cost += *std::ranges::max_element(step);
    work.pairs.push_back(std::move(step));
  }
  work.skipped = n * n - computed;

  double sum = 0, max = 0;
  for (const Index w : work.by_rank) {
    sum += static_cast<double>(w);
    max = std::max(max, static_cast<double>(w));
  }
  work.imbalance = 1.0 - sum / n / max;
  return work;
}

}  // namespace ringcraft
