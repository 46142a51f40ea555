// Mistake: synchronous_cost is the largest total of a rank (maximum of by_rank) instead of the sum over the steps of each step's largest entry; it is too small wherever no single rank has the largest entry of every step.
// Lesson 401: what each rank of a ring computes at each step, what it skips, and how uneven that is (see
// work.hpp). Every figure follows from the problem; nothing is run.
#include "ringcraft/ring/work.hpp"

#include <algorithm>
#include <numeric>

#include "ringcraft/core/error.hpp"

namespace ringcraft {

RingWork ring_work(const Problem& problem) {
  const auto ranks = static_cast<std::size_t>(problem.world_size);
  const auto steps = static_cast<std::size_t>(hops(problem)) + 1;

  RingWork ledger;
  ledger.pairs.assign(steps, std::vector<Index>(ranks));
  ledger.by_rank.assign(ranks, 0);
  for (std::size_t i = 0; i < ranks; ++i)
    for (std::size_t t = 0; t < steps; ++t) {
      const std::size_t owner = (i + ranks - t) % ranks;
      const Index seen = key_ranges(problem, static_cast<int>(i), static_cast<int>(owner)).pairs();
      ledger.pairs[t][i] = seen;
      ledger.by_rank[i] += seen;
      if (seen == 0) ++ledger.skipped;
    }

  const Index most = *std::ranges::max_element(ledger.by_rank);
  ledger.synchronous_cost = most;
  const double mean =
      static_cast<double>(std::reduce(ledger.by_rank.begin(), ledger.by_rank.end())) / static_cast<double>(ranks);
  ledger.imbalance = 1.0 - mean / static_cast<double>(most);
  return ledger;
}

}  // namespace ringcraft
