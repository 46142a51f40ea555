// Mistake: key_ranges is asked what the source's queries see of the rank's keys instead of what the rank's queries see of the source's keys.
// Lesson 401: what each rank of a ring computes at each step, what it skips, and how uneven that is (see
// work.hpp). Every figure follows from the problem; nothing is run.
#include "ringcraft/ring/work.hpp"

#include <algorithm>
#include <numeric>

#include "ringcraft/core/error.hpp"

namespace ringcraft {

RingWork ring_work(const Problem& problem) {
  const int n = problem.world_size;
  const int last = hops(problem);
  RingWork work;
  work.pairs.assign(std::size_t(last + 1), {});
  std::vector<Index> total(std::size_t(n), 0);
  Index all = 0;
  for (int t = 0; t <= last; ++t) {
    Index slowest = 0;
    for (int rank = 0; rank < n; ++rank) {
      int source = rank - t;
      if (source < 0) source += n;
      const KeyRanges seen = key_ranges(problem, source, rank);
      const Index count = seen.pairs();
      work.pairs[std::size_t(t)].push_back(count);
      total[std::size_t(rank)] += count;
      all += count;
      work.skipped += count == 0 ? 1 : 0;
      slowest = std::max(slowest, count);
    }
    work.synchronous_cost += slowest;
  }
  const Index busiest = *std::ranges::max_element(total);
  work.imbalance = 1 - double(all) / n / double(busiest);
  work.by_rank = std::move(total);
  return work;
}

}  // namespace ringcraft
