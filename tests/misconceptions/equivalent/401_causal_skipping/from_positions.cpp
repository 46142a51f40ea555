// Equivalent: asks neither the key ranges of the problem nor its hops: only positions and the mask.
#include <algorithm>
#include <numeric>

#include "ringcraft/core/error.hpp"
#include "ringcraft/ring/work.hpp"

namespace ringcraft {
namespace {

// The keys of a block that one query sees lie in one interval of positions.
Index pairs_of(const Problem& problem, const std::vector<Position>& queries,
               const std::vector<Position>& keys) {
  MaskCursor cursor(problem.mask, problem.shape.seqlen);
  Index pairs = 0;
  for (const Position query : queries) {
    const auto [lo, hi] = cursor.at(query);
    const auto first = std::lower_bound(keys.begin(), keys.end(), lo);
    pairs += std::max<Index>(0, std::lower_bound(keys.begin(), keys.end(), hi) - first);
  }
  return pairs;
}

}  // namespace

RingWork ring_work(const Problem& problem) {
  const int n = problem.world_size;
  std::vector<std::vector<Position>> positions;
  for (int rank = 0; rank < n; ++rank) positions.push_back(problem.sharding().positions(rank));
  RingWork work;
  work.by_rank.resize(positions.size());
  int last = 0;
  for (int t = 0; t < n; ++t) {
    work.pairs.emplace_back();
    for (int rank = 0; rank < n; ++rank) {
      const auto to = static_cast<std::size_t>(rank), from = static_cast<std::size_t>((rank + n - t) % n);
      work.pairs.back().push_back(pairs_of(problem, positions[to], positions[from]));
      if (work.pairs.back().back() > 0) last = t;
      work.by_rank[to] += work.pairs.back().back();
    }
  }
  work.pairs.resize(static_cast<std::size_t>(last) + 1);
  for (const auto& step : work.pairs) {
    for (const Index pairs : step) work.skipped += pairs > 0 ? 0 : 1;
    work.synchronous_cost += *std::max_element(step.begin(), step.end());
  }
  const double busiest = static_cast<double>(*std::max_element(work.by_rank.begin(), work.by_rank.end()));
  work.imbalance = 1 - std::accumulate(work.by_rank.begin(), work.by_rank.end(), 0.0) / (n * busiest);
  return work;
}

}  // namespace ringcraft
