// Explains rows that are not numbers by the blocks that they have seen, or by the scores.
#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string>

#include "verify/diagnose/solve/solve.hpp"
#include "verify/diagnose/twisted/twisted_ring_detail.hpp"
#include "verify/oracle/rounding.hpp"

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

// Whether the rows of out that are no numbers are those that `expected` says: some of those that it speaks
// of, and not all.
template <class Expected>
bool are_the_nan_rows(const Evidence& e, Expected expected) {
  bool any = false, others = false;
  for (const RowPlace& row : row_places(e.claim.out.extents())) {
    const std::optional<bool> none = expected(row.row);
    if (!none) continue;
    const auto values = row_of(e.claim.out, row.batch, row.head, row.row);
    if (std::ranges::any_of(values, [](double value) { return std::isnan(value); }) != *none) return false;
    any = any || *none, others = others || !*none;
  }
  return any && others;
}

// Whether q and k were float16 numbers, whatever type the results are written in.
bool are_float16(const Inputs& in) {
  const auto fits = [&](DType type) {
    return std::ranges::all_of(std::array{&in.q, &in.k}, [=](const Buffer* tensor) {
      return std::ranges::all_of(tensor->values<double>(), [=](double x) { return rounded(x, type) == x; });
    });
  };
  return fits(DType::kFloat16) && !fits(DType::kBFloat16);
}

// The softmax of a row whose scores are infinite where float16 does not hold them before they are scaled.
enum class HalfRow : std::uint8_t {
  kEmpty,  // sees no key
  kFine,
  kInfinite,  // one is +inf, or all are -inf
};

HalfRow half_row(const Evidence& e, const RowPlace& row) {
  constexpr double kInfinite = 65520;  // the least that rounds to no number of float16
  const Index kv_head = row.head / e.problem.group();
  bool any = false, all_below = true;
  for (std::size_t key = 0; key < e.problem.keys.size(); ++key) {
    if (!visible(e.problem.mask, e.problem.queries[static_cast<std::size_t>(row.row)], e.problem.keys[key]))
      continue;
    const double product = dot(row_of(e.inputs.q, row.batch, row.head, row.row),
                               row_of(e.inputs.k, row.batch, kv_head, static_cast<Index>(key)));
    if (product >= kInfinite) return HalfRow::kInfinite;
    any = true;
    all_below = all_below && product <= -kInfinite;
  }
  return !any ? HalfRow::kEmpty : all_below ? HalfRow::kInfinite : HalfRow::kFine;
}

}  // namespace

std::optional<Cause> cause_of_half_scores(const Evidence& e) {
  if (!e.is_wrong("out") || !are_float16(e.inputs)) return {};
  bool any_nan = false, any_zero = false;
  for (const RowPlace& row : row_places(e.claim.out.extents())) {
    e.tick();
    const HalfRow kind = half_row(e, row);
    if (kind == HalfRow::kEmpty) continue;
    const auto values = row_of(e.claim.out, row.batch, row.head, row.row);
    const bool nan = std::ranges::any_of(values, [](double value) { return std::isnan(value); });
    const bool zero = std::ranges::all_of(values, [](double value) { return value == 0; });
    if ((nan || zero) != (kind == HalfRow::kInfinite)) return {};
    any_nan = any_nan || nan, any_zero = any_zero || zero;
  }
  if (!any_nan && !any_zero) return {};
  const char* what = !any_zero ? "no number" : !any_nan ? "zero" : "no number or zero";
  return Cause{"half-scores",
               "every row with a score of 65520 or more before the scale, or with none above -65520, is " +
                   std::string(what) +
                   ", and no other row: float16 holds the scores before they are scaled, and those are "
                   "infinite there",
               "What is the largest float16, and which product of q and k reaches it before it is scaled?"};
}

std::optional<Cause> cause_of_scaled_mask(const Evidence& e) {
  const auto hides_a_key = [&](Index row) -> std::optional<bool> {
    const Position query = e.problem.queries[static_cast<std::size_t>(row)];
    const auto seen = std::ranges::count_if(
        e.problem.keys, [&](Position key) { return visible(e.problem.mask, query, key); });
    if (seen == 0) return {};
    return seen < static_cast<std::ptrdiff_t>(e.problem.keys.size());
  };
  if (e.problem.softmax_scale > 0 || !e.is_wrong("out") || !are_the_nan_rows(e, hides_a_key)) return {};
  return Cause{
      "mask-scaled",
      "every row that hides a key is no number, and no other row: masked scores of minus infinity are "
      "multiplied by the softmax scale, which is not above 0 here",
      "Mask first or scale first? What is minus infinity times 0, and times a negative number?"};
}

std::optional<Cause> cause_of_unread_blocks(const Evidence& e) {
  const auto reads_more = [&](Index row) -> std::optional<bool> { return sees_received(e, row); };
  if (e.ring == nullptr || !e.has("out") || !are_the_nan_rows(e, reads_more)) return {};
  return Cause{
      "solved-received-nan",
      "every row that sees a key of another rank's block is no number, and no other row: the buffer is "
      "read before its block has arrived, or is never filled",
      "Which buffer may the network still touch when you read it, and what does it hold until then?"};
}

}  // namespace ringcraft::verify
