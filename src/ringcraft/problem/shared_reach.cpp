// The reaches of one problem, computed once for all ranks of a process, and the largest of them.
#include <algorithm>
#include <mutex>
#include <optional>

#include "ringcraft/problem/reach.hpp"

namespace ringcraft {

namespace {

// reaches() looks at the tokens of every pair of ranks.
bool is_small(const Problem& problem) { return problem.shape.seqlen * problem.world_size <= Index{1} << 22; }

}  // namespace

std::vector<int> reaches_by_pairs(const Problem& problem) {
  const int n = problem.world_size;
  std::vector<int> reach;
  for (int source = 0; source < n; ++source) {
    int t = n - 1;
    while (t > 0 && !key_ranges(problem, (source + t) % n, source).any()) --t;
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
    latest = Latest{problem.mask, sharding,
                    std::make_shared<const std::vector<int>>(is_small(problem) ? reaches(problem)
                                                                               : reaches_by_pairs(problem))};
  return latest->reach;
}

int hops(const Problem& problem) {
  const auto reach = shared_reaches(problem);
  return *std::max_element(reach->begin(), reach->end());
}

}  // namespace ringcraft
