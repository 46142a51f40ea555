// Explains wrong rows without a visible key: compares out, lse and gradients with the typical results of code
// that does not handle them.
#include "verify/diagnose/tiles/blind_rows.hpp"

#include <algorithm>
#include <cmath>

#include "ringcraft/core/shown.hpp"
#include "verify/diagnose/solve/solve_detail.hpp"
#include "verify/diagnose/twisted/twisted_ring_detail.hpp"

namespace ringcraft::verify {
namespace {

const char* const kBlindQuestion =
    "Which of your lines divides, or takes a logarithm or a maximum, when a row has no key?";

bool is_blind(const Evidence& e, Index row) {
  const Position q = e.problem.queries[static_cast<std::size_t>(row)];
  return std::ranges::none_of(e.problem.keys, [&](Position k) { return visible(e.problem.mask, q, k); });
}

template <class Body>
bool all_rows(const Evidence& e, Body body) {
  for (Index b = 0; b < e.problem.batch; ++b)
    for (Index h = 0; h < e.problem.heads; ++h)
      for (Index i = 0; i < static_cast<Index>(e.problem.queries.size()); ++i) {
        e.tick();
        if (!body(RowPlace{b, h, i})) return false;
      }
  return true;
}

bool is_right(const Evidence& e, const RowPlace& r, const Buffer& claim, const Buffer& right,
              const Buffer& unit) {
  return same_row(row_of(claim, r.batch, r.head, r.row), row_of(right, r.batch, r.head, r.row),
                  row_of(unit, r.batch, r.head, r.row), e.nearness(), false);
}

// Whether out of all rows without a key is the result of `row`, within this share.
template <class Row>
bool out_is(const Evidence& e, double within, Row row) {
  return all_rows(e, [&](const RowPlace& r) {
    if (!is_blind(e, r.row)) return true;
    const std::vector<double> want = row(r);
    const auto got = row_of(e.claim.out, r.batch, r.head, r.row);
    for (std::size_t c = 0; c < got.size(); ++c)
      if (want.empty() || !(std::fabs(got[c] - want[c]) <= within * (1 + std::fabs(want[c])))) return false;
    return true;
  });
}

std::vector<double> mean_of_values(const Evidence& e, const RowPlace& r, bool by_score) {
  const auto n = static_cast<Index>(e.problem.keys.size());
  const Index g = r.head / e.problem.group();
  std::vector<double> sum(static_cast<std::size_t>(e.problem.head_dim), 0.0), scores;
  for (Index j = 0; j < n; ++j)
    scores.push_back(by_score ? e.problem.softmax_scale * dot(row_of(e.inputs.q, r.batch, r.head, r.row),
                                                              row_of(e.inputs.k, r.batch, g, j))
                              : 0.0);
  const double largest = scores.empty() ? 0 : *std::ranges::max_element(scores);
  double total = 0;
  for (Index j = 0; j < n; ++j) {
    const double weight = std::exp(scores[static_cast<std::size_t>(j)] - largest);
    total += weight;
    add(sum, weight, row_of(e.inputs.v, r.batch, g, j));
  }
  for (double& x : sum) x /= total;
  return sum;
}

// lse of all rows without a key, if it is one number and not the right one; NaN if it is NaN.
std::optional<double> lse_of_blind(const Evidence& e) {
  std::optional<double> number;
  const bool same = all_rows(e, [&](const RowPlace& r) {
    if (!is_blind(e, r.row)) return true;
    const double lse = row_of(e.claim.lse, r.batch, r.head, r.row)[0];
    if (!number) number = lse;
    return lse == *number || (std::isnan(lse) && std::isnan(*number));
  });
  return same && number && *number != -HUGE_VAL ? number : std::nullopt;
}

// The score of every hidden key, in words, if lse of all rows without a key tells it.
std::string told_by_lse(const Evidence& e) {
  const auto lse = e.has("lse") ? lse_of_blind(e) : std::nullopt;
  if (!lse || !std::isfinite(*lse) || !e.is_wrong("lse")) return "";
  return " (by lse, about " + short_number(*lse - std::log(static_cast<double>(e.problem.keys.size()))) +
         " after the softmax scale)";
}

std::optional<Cause> forward_cause(const Evidence& e) {
  bool any = false;
  const bool only_blind = all_rows(e, [&](const RowPlace& r) {
    any = any || is_blind(e, r.row);
    return is_blind(e, r.row) || (is_right(e, r, e.claim.out, e.oracle.value.out, e.units().out) &&
                                  is_right(e, r, e.claim.lse, e.oracle.value.lse, e.units().lse));
  });
  if (!any || !only_blind) return {};
  const std::string start = "a row without a visible key ";
  const bool no_number = all_rows(e, [&](const RowPlace& r) {
    return !is_blind(e, r.row) || std::isnan(row_of(e.claim.out, r.batch, r.head, r.row)[0]);
  });
  if (no_number && e.is_wrong("out")) {
    const bool lse_right = !e.is_wrong("lse");
    return Cause{
        "blind-nan",
        start +
            (lse_right ? "is divided by its l, which is 0: 0 / 0 is no number"
                       : "becomes NaN: 0 / 0 where it is divided by l, or -inf - (-inf) where its maximum "
                         "is subtracted") +
            "; out must be 0, and lse minus infinity",
        kBlindQuestion};
  }
  if (e.is_wrong("out") && out_is(e, 1e-9, [&](const RowPlace& r) { return mean_of_values(e, r, false); }))
    return Cause{"blind-mean",
                 start + "returns the mean of all values: its scores are all the same large negative number" +
                     told_by_lse(e) + " instead of minus infinity, so every key weighs alike",
                 "What does softmax make of a row whose scores are all -1e9?"};
  if (e.is_wrong("out") && out_is(e, 1e-4, [&](const RowPlace& r) { return mean_of_values(e, r, true); }))
    return Cause{"blind-unmasked", start + "attends to all keys, as if there were no mask",
                 "What is left of a mask that adds the same number to all scores of a row?"};
  if (e.is_wrong("out") && out_is(e, 1e-9, [&](const RowPlace& r) {
        const auto before =
            r.row > 0 ? row_of(e.claim.out, r.batch, r.head, r.row - 1) : std::span<const double>{};
        return std::vector<double>(before.begin(), before.end());
      }))
    return Cause{"blind-before", start + "returns what the row before has left", kBlindQuestion};
  if (const auto lse = lse_of_blind(e); lse && !e.is_wrong("out"))
    return Cause{"blind-lse",
                 "lse of a row without a visible key is " + (std::isnan(*lse) ? "NaN" : short_number(*lse)) +
                     " instead of minus infinity",
                 "What is the logarithm of a sum of nothing, and what do you hand out for it?"};
  return {};
}

std::optional<Cause> backward_cause(const Evidence& e) {
  bool any = false;
  const bool rows = all_rows(e, [&](const RowPlace& r) {
    const auto dq = row_of(e.claim.dq, r.batch, r.head, r.row);
    const bool no_number = std::ranges::any_of(dq, [](double x) { return std::isnan(x); });
    any = any || (no_number && is_blind(e, r.row));
    return is_blind(e, r.row) ? no_number || !e.is_wrong("dq")
                              : is_right(e, r, e.claim.dq, e.oracle.value.dq, e.units().dq);
  });
  const auto spoilt = [&](const Buffer& tensor, const char* name) {  // in every such row
    return !e.is_wrong(name) || std::ranges::all_of(tensor.values<double>(),
                                                    [](double x) { return std::isnan(x) || std::isinf(x); });
  };
  if (!rows || !spoilt(e.claim.dk, "dk") || !spoilt(e.claim.dv, "dv")) return {};
  any = any || all_rows(e, [&](const RowPlace& r) { return is_blind(e, r.row); });
  const bool blind_row = !all_rows(e, [&](const RowPlace& r) { return !is_blind(e, r.row); });
  if (!any && !(blind_row && (e.is_wrong("dk") || e.is_wrong("dv")))) return {};
  return Cause{"blind-nan-back",
               "a row without a visible key gives NaN: its lse is minus infinity, and exp(-inf - (-inf)) is "
               "no number; "
               "its weights must be 0",
               "What is exp(score - lse) of a row that sees nothing?"};
}

}  // namespace

std::optional<Cause> cause_of_blind_rows(const Evidence& e, TensorGroup pass) {
  if (e.ring != nullptr || e.problem.keys.empty()) return {};
  return pass == TensorGroup::kForward ? forward_cause(e) : backward_cause(e);
}

}  // namespace ringcraft::verify
