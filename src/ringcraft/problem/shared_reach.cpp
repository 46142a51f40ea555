// The reaches of one problem, computed once for all ranks of a process, and the largest of them.
#include <algorithm>
#include <mutex>
#include <optional>

#include "ringcraft/problem/reach.hpp"

namespace ringcraft {

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
