// Equivalent: the blocks walk: a list of whose block each rank holds is rotated after every step.
#include <algorithm>

#include "ringcraft/core/error.hpp"
#include "ringcraft/ring/work.hpp"

namespace ringcraft {

RingWork ring_work(const Problem& problem) {
  const auto n = static_cast<std::size_t>(problem.world_size);
  RingWork work{{}, 0, std::vector<Index>(n), 0, 0};
  std::vector<int> held(n);
  for (std::size_t i = 0; i < n; ++i) held[i] = static_cast<int>(i);
  for (int left = hops(problem); left >= 0; --left) {
    work.pairs.emplace_back(n);
    Index slowest = 0;
    for (std::size_t i = 0; i < n; ++i) {
      const Index pairs = key_ranges(problem, static_cast<int>(i), held[i]).pairs();
      work.pairs.back()[i] = pairs;
      work.by_rank[i] += pairs;
      if (pairs == 0) ++work.skipped;
      slowest = std::max(slowest, pairs);
    }
    work.synchronous_cost += slowest;
    std::rotate(held.begin(), held.end() - 1, held.end());
  }
  double mean = 0, busiest = 0;
  for (const Index pairs : work.by_rank) {
    mean += static_cast<double>(pairs) / static_cast<double>(n);
    busiest = std::max(busiest, static_cast<double>(pairs));
  }
  work.imbalance = (busiest - mean) / busiest;
  return work;
}

}  // namespace ringcraft
