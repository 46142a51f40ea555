// Formulas that all theories share.
#include "ringcraft/engine/theory.hpp"

#include <algorithm>
#include <numeric>

namespace ringcraft {

RoleBytes role_bytes(const BlockEngine& engine) {
  return {size_of(engine.dtype(Role::kElement)), size_of(engine.dtype(Role::kAccumulator))};
}

Theory::Theory(int world_size)
    : bytes_sent(static_cast<std::size_t>(world_size), 0),
      messages_sent(bytes_sent),
      peak_bytes(bytes_sent),
      pairs(bytes_sent) {}

double Theory::imbalance() const { return ringcraft::imbalance(pairs); }

double imbalance(std::span<const Index> pairs) {
  const Index total = std::accumulate(pairs.begin(), pairs.end(), Index{0});
  if (total == 0) return 0;
  const Index busiest = *std::max_element(pairs.begin(), pairs.end());
  return 1 - static_cast<double>(total) / static_cast<double>(pairs.size()) / static_cast<double>(busiest);
}

double share_of_heads(const Buffer& q, Index heads) {
  const Extents& e = q.extents();
  return heads == 0 ? 1 : static_cast<double>(e.batch * e.heads) / static_cast<double>(heads);
}

}  // namespace ringcraft
