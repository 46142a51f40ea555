// Explains rows that are not numbers by the blocks that they have seen.
#include <algorithm>
#include <cmath>
#include <optional>

#include "verify/diagnose/solve/solve.hpp"
#include "verify/diagnose/twisted/twisted_ring_detail.hpp"

namespace ringcraft::verify {
namespace {

// Whether a row sees a key of another rank's block.
bool sees_received(const Evidence& e, Index row) {
  const int own = e.place.row_owner[static_cast<std::size_t>(row)];
  for (std::size_t key = 0; key < e.problem.keys.size(); ++key)
    if (e.place.owner[key] != own &&
        visible(e.problem.mask, e.problem.queries[static_cast<std::size_t>(row)], e.problem.keys[key]))
      return true;
  return false;
}

}  // namespace

std::optional<Cause> cause_of_unread_blocks(const Evidence& e) {
  if (e.ring == nullptr || !e.has("out")) return {};
  bool any = false, others = false;
  const Extents& x = e.claim.out.extents();
  for (Index b = 0; b < x.batch; ++b)
    for (Index h = 0; h < x.heads; ++h)
      for (Index row = 0; row < x.rows; ++row) {
        const auto values = row_of(e.claim.out, b, h, row);
        const bool none = std::ranges::any_of(values, [](double value) { return std::isnan(value); });
        if (none != sees_received(e, row)) return {};
        any = any || none;
        others = others || !none;
      }
  if (!any || !others) return {};
  return Cause{
      "solved-received-nan",
      "every row that sees a key of another rank's block is no number, and no other row: the buffer is "
      "read before its block has arrived, or is never filled",
      "Which buffer may the network still touch when you read it, and what does it hold until then?"};
}

}  // namespace ringcraft::verify
