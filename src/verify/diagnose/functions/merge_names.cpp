// Lists the weights and extra factors that a merge may use, and names a series of weights, one per row, if
// one of them gives it.
#include <algorithm>
#include <cmath>

#include "ringcraft/core/shown.hpp"
#include "verify/diagnose/functions/merge_row.hpp"

namespace ringcraft::verify {

MergeNear merge_near(DType precision) {
  return precision == DType::kFloat64 ? MergeNear{1e-6, 1e-11, 1e-3} : MergeNear{1e-4, 1e-5, 0.1};
}

double MergeRow::right_max() const {
  const double larger = std::max(max_a, max_b), smaller = std::min(max_a, max_b);
  return normalized && smaller != kNoKey ? larger + std::log1p(std::exp(smaller - larger)) : larger;
}

MergeRow merge_row(const MergeExhibit& x, Index row) {
  const auto i = static_cast<std::size_t>(row), wide = static_cast<std::size_t>(x.cols);
  const auto part = [=](const std::vector<double>& all) { return std::span(all).subspan(i * wide, wide); };
  const auto sum = [&](const PartialNumbers& numbers) { return x.normalized() ? 1.0 : numbers.sum[i]; };
  return {x.acc.max[i],  x.block.max[i],  sum(x.acc),        sum(x.block),       x.result.max[i],
          sum(x.result), part(x.acc.out), part(x.block.out), part(x.result.out), x.normalized()};
}

const std::vector<MergeWeight>& merge_weights() {
  static const std::vector<MergeWeight> all{
      {"exp(m_own - m)", [](const MergeRow& r, double own, double) { return std::exp(own - r.right_max()); }},
      {"1", [](const MergeRow&, double, double) { return 1.0; }},
      {"0", [](const MergeRow&, double, double) { return 0.0; }},
      {"exp(m_other - m)",
       [](const MergeRow& r, double, double other) { return std::exp(other - r.right_max()); }},
      {"exp(m - m_own)", [](const MergeRow& r, double own, double) { return std::exp(r.right_max() - own); }},
      {"exp(m - m_other)",
       [](const MergeRow& r, double, double other) { return std::exp(r.right_max() - other); }},
      {"exp(m_own - m_other)",
       [](const MergeRow&, double own, double other) { return std::exp(own - other); }},
      {"exp(m_other - m_own)",
       [](const MergeRow&, double own, double other) { return std::exp(other - own); }},
      {"exp(m_own)", [](const MergeRow&, double own, double) { return std::exp(own); }},
      {"exp(-m_own)", [](const MergeRow&, double own, double) { return std::exp(-own); }},
      {"exp(m_own - m) squared",
       [](const MergeRow& r, double own, double) { return std::exp(2 * (own - r.right_max())); }},
      {"2^(m_own - m)", [](const MergeRow& r, double own, double) { return std::exp2(own - r.right_max()); }},
      {"1/2", [](const MergeRow&, double, double) { return 0.5; }},
  };
  return all;
}

namespace {

double new_sum(const MergeRow& r) {
  return std::exp(r.max_a - r.right_max()) * r.sum_a + std::exp(r.max_b - r.right_max()) * r.sum_b;
}

// Extra factors of a weight.
const std::vector<MergeWeight>& factors() {
  static const std::vector<MergeWeight> all{
      {"", [](const MergeRow&, double, double) { return 1.0; }},
      {", divided by the new l", [](const MergeRow& r, double, double) { return 1 / new_sum(r); }},
      {", times l of acc, divided by the new l",
       [](const MergeRow& r, double, double) { return r.sum_a / new_sum(r); }},
      {", times l of the block, divided by the new l",
       [](const MergeRow& r, double, double) { return r.sum_b / new_sum(r); }},
      {", divided by l of acc", [](const MergeRow& r, double, double) { return 1 / r.sum_a; }},
      {", divided by l of the block", [](const MergeRow& r, double, double) { return 1 / r.sum_b; }},
      {", divided by both l", [](const MergeRow& r, double, double) { return 1 / (r.sum_a + r.sum_b); }},
      {", times l of acc", [](const MergeRow& r, double, double) { return r.sum_a; }},
      {", times l of the block", [](const MergeRow& r, double, double) { return r.sum_b; }},
      {", halved", [](const MergeRow&, double, double) { return 0.5; }},
  };
  return all;
}

}  // namespace

std::optional<NamedWeight> named_weight(const std::vector<MergeRow>& rows, const std::vector<double>& x,
                                        bool of_acc, const MergeNear& near) {
  const auto own = [=](const MergeRow& r) { return of_acc ? r.max_a : r.max_b; };
  const auto other = [=](const MergeRow& r) { return of_acc ? r.max_b : r.max_a; };
  const auto all = [&](auto value, double within) {
    for (std::size_t i = 0; i < rows.size(); ++i)
      if (!agree(x[i], value(rows[i]), within, near.floor)) return false;
    return true;
  };
  const auto by_claimed = [&](const MergeRow& r) { return std::exp(own(r) - r.max); };
  if (all(by_claimed, near.exact)) return NamedWeight{"", true, true};
  for (const MergeWeight& factor : factors())
    for (const MergeWeight& weight : merge_weights()) {
      const auto value = [&](const MergeRow& r) {
        return weight.value(r, own(r), other(r)) * factor.value(r, own(r), other(r));
      };
      if (!all(value, near.named)) continue;
      const std::string words =
          replaced(replaced(std::string(weight.words) + factor.words, "m_own", of_acc ? "m_acc" : "m_block"),
                   "m_other", of_acc ? "m_block" : "m_acc");
      double off = 0, low = HUGE_VAL, high = -HUGE_VAL;
      for (std::size_t i = 0; i < rows.size(); ++i)
        if (const double named = value(rows[i]); named > near.floor) {
          low = std::min(low, x[i] - named), high = std::max(high, x[i] - named);
          off = std::max(off, std::fabs(x[i] / named - 1));
        }
      const double most = std::max(high, -low);
      const bool constant = rows.size() > 2 && high - low <= 0.05 * most;
      // Weights below the floor may be those that deviate.
      const bool small = most > near.exact && (constant || off < kLeastOfFloat);
      off = small ? most : 0;
      return NamedWeight{words, &weight == &merge_weights().front() && &factor == &factors().front(),
                         all(value, near.exact), off};
    }
  return {};
}

}  // namespace ringcraft::verify
