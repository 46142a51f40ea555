// Mistake: (1) the total of all pairs, from which the mean of the imbalance comes, is added up in 32 bits and wraps around beyond 2^31. (2) skipped counts the entries of 0 from step 1 on only, so the own blocks of ranks without tokens (step 0) are not counted.
// Lesson 401: what each rank of a ring computes at each step, what it skips, and how uneven that is (see
// work.hpp). Every figure follows from the problem; nothing is run.
#include "ringcraft/ring/work.hpp"

#include <algorithm>
#include <numeric>

#include "ringcraft/core/error.hpp"

namespace ringcraft {

RingWork ring_work(const Problem& problem) {
  const int n = problem.world_size, exchanges = hops(problem);
  const auto place = [](int i) { return static_cast<std::size_t>(i); };

  RingWork work;
  work.by_rank.assign(place(n), 0);
  work.pairs.resize(place(exchanges + 1));
  for (auto& step : work.pairs) step.resize(place(n));

  // Block after block: the rank that is t places further on meets it at step t.
  for (int block = 0; block < n; ++block)
    for (int t = 0; t <= exchanges; ++t) {
      const int rank = (block + t) % n;
      const Index met = key_ranges(problem, rank, block).pairs();
      work.pairs[place(t)][place(rank)] = met;
      work.by_rank[place(rank)] += met;
    }

  for (int t = 0; t <= exchanges; ++t) {
    const auto& step = work.pairs[place(t)];
    work.synchronous_cost += *std::max_element(step.begin(), step.end());
    if (t > 0) work.skipped += static_cast<int>(std::count(step.begin(), step.end(), 0));
  }

  const auto total = std::accumulate(work.by_rank.begin(), work.by_rank.end(), 0);
  const double mean = static_cast<double>(total) / n;
  const Index busiest = *std::max_element(work.by_rank.begin(), work.by_rank.end());
  work.imbalance = 1 - mean / static_cast<double>(busiest);
  return work;
}

}  // namespace ringcraft
