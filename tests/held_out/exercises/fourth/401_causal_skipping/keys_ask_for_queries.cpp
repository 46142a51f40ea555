// Mistake: key_ranges is called with (source, rank) instead of (rank, source): entry [t][i] of the table counts the pairs of the queries of rank i - t with the keys of rank i, not those of the queries of rank i with the keys of rank i - t; by_rank and imbalance are wrong with it wherever the mask is not symmetrical.
// Lesson 401: what each rank of a ring computes at each step, what it skips, and how uneven that is (see
// work.hpp). Every figure follows from the problem; nothing is run.
#include "ringcraft/ring/work.hpp"

#include <algorithm>
#include <numeric>

#include "ringcraft/core/error.hpp"

namespace ringcraft {

RingWork ring_work(const Problem& problem) {
  const int ranks = problem.world_size;
  const auto block = [&](int rank, int step) {
    const int source = (rank - step + ranks) % ranks;
    return key_ranges(problem, source, rank).pairs();
  };

  RingWork work;
  for (int step = 0, last = hops(problem); step <= last; ++step) {
    auto& row = work.pairs.emplace_back();
    for (int rank = 0; rank < ranks; ++rank) row.push_back(block(rank, step));
  }

  work.by_rank.assign(static_cast<std::size_t>(ranks), Index{0});
  for (const auto& row : work.pairs) {
    std::transform(row.begin(), row.end(), work.by_rank.begin(), work.by_rank.begin(), [](Index a, Index b) { return a + b; });
    work.skipped += static_cast<int>(std::count(row.begin(), row.end(), Index{0}));
    work.synchronous_cost += *std::max_element(row.begin(), row.end());
  }

  const double total = static_cast<double>(std::reduce(work.by_rank.begin(), work.by_rank.end()));
  const double busiest = static_cast<double>(*std::max_element(work.by_rank.begin(), work.by_rank.end()));
  work.imbalance = 1.0 - (total / ranks) / busiest;
  return work;
}

}  // namespace ringcraft
