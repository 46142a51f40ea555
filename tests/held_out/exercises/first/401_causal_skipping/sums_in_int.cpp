// Mistake: The pairs of a rank are added up by std::accumulate from the int 0, so the sums have 32 bits and overflow.
#include "ringcraft/ring/work.hpp"

#include <algorithm>
#include <numeric>

#include "ringcraft/core/error.hpp"

namespace ringcraft {

RingWork ring_work(const Problem& problem) {
  const std::size_t ranks = static_cast<std::size_t>(problem.world_size);
  const std::size_t steps = static_cast<std::size_t>(hops(problem)) + 1;
  RingWork result;
  result.pairs.resize(steps, std::vector<Index>(ranks));

  // fill the table
  for (std::size_t t = 0; t < steps; t++)
    for (std::size_t i = 0; i < ranks; i++) {
      const std::size_t source = (i + ranks - t) % ranks;
      result.pairs[t][i] = key_ranges(problem, static_cast<int>(i), static_cast<int>(source)).pairs();
    }

  // everything else follows from it
  for (std::size_t i = 0; i < ranks; i++) {
    std::vector<Index> column;
    for (const auto& row : result.pairs) column.push_back(row[i]);
    result.by_rank.push_back(std::accumulate(column.begin(), column.end(), 0));
  }
  for (const auto& row : result.pairs) {
    result.skipped += static_cast<int>(std::count(row.begin(), row.end(), 0));
    result.synchronous_cost += *std::max_element(row.begin(), row.end());
  }
  double sum = 0, largest = 0;
  for (Index pairs : result.by_rank) {
    sum += static_cast<double>(pairs);
    largest = std::max(largest, static_cast<double>(pairs));
  }
  result.imbalance = 1.0 - sum / static_cast<double>(ranks) / largest;
  return result;
}

}  // namespace ringcraft
