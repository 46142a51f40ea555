// The reach of every KV block under any mask and layout: with a window most blocks are needed a rank or two
// further on, and under a causal mask the last rank's block is needed nowhere else.
#include "ringcraft/problem/reach.hpp"

#include <algorithm>
#include <mutex>
#include <optional>

namespace ringcraft {
namespace {

// Whether one of the queries sees one of the keys, both increasing positions.
bool sees(const Mask& mask, Position seqlen, const std::vector<Position>& queries,
          const std::vector<Position>& keys) {
  MaskCursor cursor(mask, seqlen);
  std::size_t b = 0;  // the first key at or after lo
  for (const Position p : queries) {
    const auto [lo, hi] = cursor.at(p);
    while (b < keys.size() && keys[b] < lo) ++b;
    if (b == keys.size()) return false;
    if (keys[b] < hi) return true;
  }
  return false;
}

}  // namespace

std::vector<int> reaches(const Problem& problem) {
  const int n = problem.world_size;
  const Sharding sharding = problem.sharding();
  std::vector<std::vector<Position>> positions;  // [rank][local row]
  for (int rank = 0; rank < n; ++rank) positions.push_back(sharding.positions(rank));
  std::vector<int> reach;
  for (int source = 0; source < n; ++source) {
    int t = positions[static_cast<std::size_t>(source)].empty() ? 0 : n - 1;
    while (t > 0 &&
           !sees(problem.mask, problem.shape.seqlen, positions[static_cast<std::size_t>((source + t) % n)],
                 positions[static_cast<std::size_t>(source)]))
      --t;
    reach.push_back(t);
  }
  return reach;
}

std::shared_ptr<const std::vector<int>> shared_reaches(const Problem& problem) {
  struct Latest {
    Mask mask;
    Sharding sharding;
    std::shared_ptr<const std::vector<int>> reach;
  };
  static std::mutex mutex;
  static std::optional<Latest> latest;
  const std::lock_guard lock(mutex);
  const Sharding sharding = problem.sharding();
  if (!latest || latest->mask != problem.mask || latest->sharding != sharding)
    latest = Latest{problem.mask, sharding, std::make_shared<const std::vector<int>>(reaches(problem))};
  return latest->reach;
}

int hops(const Problem& problem) {
  const auto reach = shared_reaches(problem);
  return *std::max_element(reach->begin(), reach->end());
}

}  // namespace ringcraft
