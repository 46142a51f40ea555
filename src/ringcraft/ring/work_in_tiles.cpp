// The work of a ring as a kernel sees it, in whole tiles.
#include <algorithm>

#include "ringcraft/ring/work.hpp"

namespace ringcraft {

Index synchronous_tiles(const Problem& problem, int tile) {
  const int n = problem.world_size, exchanges = hops(problem);
  Index cost = 0;
  for (int t = 0; t <= exchanges; ++t) {
    Index slowest = 0;
    for (int rank = 0; rank < n; ++rank) {
      const int source = (rank - t + n) % n;
      const auto keys = static_cast<int>(problem.sharding().rows(source));
      slowest = std::max(slowest, key_ranges(problem, rank, source).by_row().tiles(keys, tile, tile));
    }
    cost += slowest;
  }
  return cost;
}

}  // namespace ringcraft
