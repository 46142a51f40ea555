// Selects the rows that a match compares, wrong ones first and spread over heads and positions, and decides
// when two rows agree.
#include <algorithm>
#include <cmath>
#include <set>

#include "verify/diagnose/match.hpp"
#include "verify/diagnose/twisted/twisted_ring_detail.hpp"

namespace ringcraft::verify {

TensorGroup group_of(std::string_view tensor) {
  return tensor == "out" || tensor == "lse" ? TensorGroup::kForward : TensorGroup::kBackward;
}

bool Evidence::has(std::string_view name) const {
  const auto known = std::find(kAnswerNames.begin(), kAnswerNames.end(), name);
  return known != kAnswerNames.end() && there[static_cast<std::size_t>(known - kAnswerNames.begin())];
}

bool Evidence::is_wrong(std::string_view name) const {
  return std::ranges::any_of(comparison.tensors, [=](const TensorComparison& tensor) {
    return tensor.name == name && !tensor.wrong_rows.empty();
  });
}

bool Evidence::looks_at(const RowPlace& row) const {
  return (part.batch < 0 || part.batch == row.batch) && (part.head < 0 || part.head == row.head) &&
         (part.rank < 0 || part.rank == place.row_owner[static_cast<std::size_t>(row.row)]);
}

Evidence::Nearness Evidence::nearness() const {
  switch (precision) {
    case DType::kFloat64:
      return {1e-12, 1e-12};
    case DType::kFloat32:
      return {64 * 0x1p-23, 64 * 0x1p-23};
    case DType::kBFloat16:
    case DType::kFloat16:
      break;
  }
  return {12, 4 * unit_roundoff(precision)};
}

ExponentRange Evidence::exponents() const {
  if (precision == DType::kFloat64) return {};
  return {.low = -103.9, .high = 88.7};
}

bool same_row(std::span<const double> got, std::span<const double> want, std::span<const double> unit,
              Evidence::Nearness nearness, bool no_key) {
  constexpr double kTiny = 1e-290;
  for (std::size_t c = 0; c < got.size(); ++c) {
    if (got[c] == want[c]) continue;
    if (std::isnan(want[c]) || std::isinf(want[c])) {
      if (std::isnan(got[c]) || (std::isinf(got[c]) && !no_key)) continue;
      return false;
    }
    if (no_key && !std::isfinite(got[c])) continue;
    if (!(std::fabs(got[c] - want[c]) <=
          nearness.unit * unit[c] + nearness.relative * std::fabs(want[c]) + kTiny))
      return false;
  }
  return true;
}

bool is_claimed_row(const Evidence& e, const Buffer& claim, const Buffer& unit, const RowPlace& row,
                    std::span<const double> value, bool no_key) {
  return same_row(row_of(claim, row.batch, row.head, row.row), value,
                  row_of(unit, row.batch, row.head, row.row), e.nearness(), no_key);
}

bool is_near_right(const Evidence& e, TensorGroup pass) {
  const auto claims = named(e.claim), wants = named(e.oracle.value), units = named(e.units());
  for (std::size_t t = 0; t < claims.size(); ++t) {
    const Extents& all = claims[t].tensor.extents();
    if (!e.has(kAnswerNames[t]) || group_of(kAnswerNames[t]) != pass) continue;
    for (Index i = 0; i < all.batch * all.heads * all.rows; ++i) {
      const RowPlace row{i / (all.heads * all.rows), i / all.rows % all.heads, i % all.rows};
      if (!is_claimed_row(e, claims[t].tensor, units[t].tensor, row,
                          row_of(wants[t].tensor, row.batch, row.head, row.row)))
        return false;
    }
  }
  return true;
}

namespace {

// Every n-th, so that at most `count` are left, including the first and the last.
template <class T>
std::vector<T> thinned(const std::vector<T>& all, Index count) {
  const auto size = static_cast<Index>(all.size());
  if (size <= count) return all;
  std::vector<T> some;
  for (Index i = 0; i < count; ++i)
    some.push_back(all[static_cast<std::size_t>(i * (size - 1) / std::max<Index>(count - 1, 1))]);
  return some;
}

// Rows of tensors of one kind: first the wrong ones of those named, then others, each in two heads.
std::vector<RowPlace> rows_of(const Evidence& e, const std::vector<std::string>& names,
                              const Extents& extents, Index wrong, Index right) {
  std::vector<RowPlace> bad;
  std::set<Position> known;
  for (const TensorComparison& tensor : e.comparison.tensors) {
    if (std::find(names.begin(), names.end(), tensor.name) == names.end()) continue;
    for (const auto& [position, difference] : tensor.wrong_rows)
      if (known.insert(position).second) bad.push_back({difference.batch, difference.head, position});
  }
  std::sort(bad.begin(), bad.end(), [](const RowPlace& a, const RowPlace& b) { return a.row < b.row; });
  std::vector<RowPlace> good;
  for (Index p = 0; p < extents.rows; ++p)
    if (!known.contains(p)) good.push_back({0, 0, p});
  std::vector<RowPlace> rows = thinned(bad, wrong);
  const std::vector<RowPlace> others = thinned(good, right);
  rows.insert(rows.end(), others.begin(), others.end());
  const std::size_t count = rows.size();
  const Index heads = extents.heads, all = extents.batch * heads;
  for (std::size_t i = 0; i < count && all > 1; ++i) {  // another head each
    const Index at = (rows[i].batch * heads + rows[i].head + 1 + static_cast<Index>(i)) % all;
    const RowPlace other{at / heads, at % heads, rows[i].row};
    if (!(other == rows[i])) rows.push_back(other);
  }
  return rows;
}

// Rows of out and lse in a part, the wrong ones first.
std::vector<RowPlace> rows_of_part(const Evidence& e, Index wrong, Index right) {
  const auto same = [&](const Buffer& claim, const Buffer& want, const Buffer& unit, const RowPlace& row) {
    return is_claimed_row(e, claim, unit, row, row_of(want, row.batch, row.head, row.row));
  };
  std::vector<RowPlace> bad, good;
  const Extents& x = e.inputs.q.extents();
  for (Index row = 0; row < x.rows; ++row)
    for (Index b = 0; b < x.batch; ++b)
      for (Index h = 0; h < x.heads; ++h) {
        const RowPlace at{b, h, row};
        if (!e.looks_at(at)) continue;
        const bool fine = (!e.has("out") || same(e.claim.out, e.oracle.value.out, e.units().out, at)) &&
                          (!e.has("lse") || same(e.claim.lse, e.oracle.value.lse, e.units().lse, at));
        (fine ? good : bad).push_back(at);
      }
  std::vector<RowPlace> rows = thinned(bad, wrong);
  const std::vector<RowPlace> others = thinned(good, right);
  rows.insert(rows.end(), others.begin(), others.end());
  return rows;
}

}  // namespace

Sample sample_of(const Evidence& e, TensorGroup group, Index wrong, Index right) {
  if (group == TensorGroup::kForward && !e.part.is_all()) return {rows_of_part(e, wrong, right), {}};
  if (group == TensorGroup::kForward)
    return {
        rows_of(e, e.has("lse") ? std::vector<std::string>{"out", "lse"} : std::vector<std::string>{"out"},
                e.inputs.q.extents(), wrong, right),
        {}};
  return {rows_of(e, {"dq"}, e.inputs.q.extents(), wrong, right),
          rows_of(e, {"dk", "dv"}, e.inputs.k.extents(), wrong, right)};
}

}  // namespace ringcraft::verify
