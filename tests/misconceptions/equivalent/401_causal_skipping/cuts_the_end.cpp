// Equivalent: counts all N steps, row by row of the key ranges; then cuts those at the end that nobody needs.
#include <algorithm>

#include "ringcraft/core/error.hpp"
#include "ringcraft/ring/work.hpp"

namespace ringcraft {

RingWork ring_work(const Problem& problem) {
  const int n = problem.world_size;
  RingWork work;
  for (int t = 0; t < n; ++t) {
    work.pairs.emplace_back();
    for (int rank = 0; rank < n; ++rank) {
      const KeyRanges ranges = key_ranges(problem, rank, (rank + n - t) % n);
      Index pairs = 0;
      for (std::size_t a = 0; a < ranges.begin.size(); ++a) pairs += ranges.end[a] - ranges.begin[a];
      work.pairs.back().push_back(pairs);
    }
  }
  while (std::all_of(work.pairs.back().begin(), work.pairs.back().end(), [](Index p) { return p == 0; }))
    work.pairs.pop_back();
  Index total = 0, busiest = 0;
  for (int rank = 0; rank < n; ++rank) {
    Index sum = 0;
    for (const auto& step : work.pairs) sum += step[static_cast<std::size_t>(rank)];
    work.by_rank.push_back(sum);
    total += sum;
    busiest = std::max(busiest, sum);
  }
  for (const auto& step : work.pairs) {
    work.skipped += static_cast<int>(std::count(step.begin(), step.end(), 0));
    work.synchronous_cost += *std::max_element(step.begin(), step.end());
  }
  work.imbalance = static_cast<double>(n * busiest - total) / static_cast<double>(n * busiest);
  return work;
}

}  // namespace ringcraft
