// Explains rows that are not numbers by the blocks that they have seen, or by the scores.
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

// Whether the softmax of a row is no number where scores beyond float16 are infinite before they are scaled:
// if one is +inf, or all are -inf.
bool overflows_half(const Evidence& e, Index batch, Index head, Index row) {
  constexpr double kInfinite = 65520;  // the least that rounds to no number of float16
  const Index kv_head = head / (e.problem.heads / e.problem.kv_heads);
  bool any = false, all_below = true;
  for (std::size_t key = 0; key < e.problem.keys.size(); ++key) {
    if (!visible(e.problem.mask, e.problem.queries[static_cast<std::size_t>(row)], e.problem.keys[key]))
      continue;
    const double product = dot(row_of(e.inputs.q, batch, head, row),
                               row_of(e.inputs.k, batch, kv_head, static_cast<Index>(key)));
    if (product >= kInfinite) return true;
    any = true;
    all_below = all_below && product <= -kInfinite;
  }
  return any && all_below;
}

}  // namespace

std::optional<Cause> cause_of_half_scores(const Evidence& e) {
  if (e.precision != DType::kFloat16 || !e.is_wrong("out")) return {};
  const Extents& x = e.claim.out.extents();
  bool any = false;
  for (Index b = 0; b < x.batch; ++b)
    for (Index h = 0; h < x.heads; ++h)
      for (Index row = 0; row < x.rows; ++row) {
        e.tick();
        const bool none = std::ranges::any_of(row_of(e.claim.out, b, h, row),
                                              [](double value) { return std::isnan(value); });
        if (none != overflows_half(e, b, h, row)) return {};
        any = any || none;
      }
  if (!any) return {};
  return Cause{
      "half-scores",
      "every row with a score of 65520 or more before the scale is no number, and no other row: float16 "
      "holds the scores before they are scaled, and those are infinite there",
      "What is the largest float16, and which product of q and k reaches it before it is scaled?"};
}

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
