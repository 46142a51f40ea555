// Mistake: Two mistakes. (1) synchronous_cost is the largest total of a rank (the maximum of by_rank) instead of the sum over the steps of the largest entry of the step. (2) The mean in `imbalance` is taken over those ranks only that have at least one pair, instead of over all ranks, so the imbalance is too small when shards are empty.
// Lesson 401: what each rank of a ring computes at each step, what it skips, and how uneven that is (see
// work.hpp). Every figure follows from the problem; nothing is run.
#include "ringcraft/ring/work.hpp"

#include <algorithm>
#include <numeric>

#include "ringcraft/core/error.hpp"

namespace ringcraft {
namespace {

double imbalance_of(const std::vector<Index>& totals) {
  double sum = 0, max = 0;
  int workers = 0;
  for (const Index total : totals) {
    if (total == 0) continue;
    sum += static_cast<double>(total);
    max = std::max(max, static_cast<double>(total));
    ++workers;
  }
  return 1 - sum / workers / max;
}

}  // namespace

RingWork ring_work(const Problem& problem) {
  const std::size_t n = static_cast<std::size_t>(problem.world_size);
  const std::size_t steps = static_cast<std::size_t>(hops(problem)) + 1;
  RingWork work;
  work.pairs.assign(steps, std::vector<Index>(n, 0));
  work.by_rank.assign(n, 0);
  for (std::size_t rank = 0; rank < n; ++rank) {
    std::size_t source = rank;  // every step brings the block of the rank before
    for (std::size_t t = 0; t < steps; ++t) {
      const KeyRanges ranges = key_ranges(problem, static_cast<int>(rank), static_cast<int>(source));
      const Index visible = ranges.pairs();
      work.pairs[t][rank] = visible;
      work.by_rank[rank] += visible;
      if (visible == 0) work.skipped++;
      source = source == 0 ? n - 1 : source - 1;
    }
  }
  work.synchronous_cost = *std::max_element(work.by_rank.begin(), work.by_rank.end());  // all wait for it
  work.imbalance = imbalance_of(work.by_rank);
  return work;
}

}  // namespace ringcraft
