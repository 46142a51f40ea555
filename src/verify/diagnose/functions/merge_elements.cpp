// Explains a wrong merge by single elements: numbers of O that are merged with the weights of another row,
// numbers in float, a block that is written.
#include <algorithm>
#include <cmath>

#include "verify/diagnose/functions/merge_row.hpp"

namespace ringcraft::verify {
namespace {

// The row whose weights element (row, column) of O is merged with.
struct OtherRow {
  const char* words;
  Index (*of)(Index row, Index col, Index rows, Index cols);
};
constexpr OtherRow kOtherRows[] = {
    {"those of row 0", [](Index, Index, Index, Index) { return Index{0}; }},
    {"those of the last row", [](Index, Index, Index rows, Index) { return rows - 1; }},
    {"those of the next row", [](Index row, Index, Index, Index) { return row + 1; }},
    {"those of the row before", [](Index row, Index, Index, Index) { return row - 1; }},
    {"those of the row with the number of its column", [](Index, Index col, Index, Index) { return col; }},
    {"those of the row with the number of its column, modulo the number of rows",
     [](Index, Index col, Index rows, Index) { return col % rows; }},
    {"those of row e mod rows, where e is its place in memory: as if O lay column by column",
     [](Index row, Index col, Index rows, Index cols) { return (row * cols + col) % rows; }},
    {"those of row e / rows, where e is its place in memory and head_dim is meant",
     [](Index row, Index col, Index rows, Index cols) { return (row * cols + col) / rows; }},
    {"those of the row counted from the last one",
     [](Index row, Index, Index rows, Index) { return rows - 1 - row; }},
    {"those of every second row", [](Index row, Index, Index, Index) { return row / 2 * 2; }}};

// The right weights of both sides.
std::pair<double, double> weights_of(const MergeRow& r) {
  const double m = r.right_max(), shift = m == kNoKey ? 0 : m;
  return {std::exp(r.max_a - shift), std::exp(r.max_b - shift)};
}

bool gives_elements(const MergeExhibit& x, const OtherRow& other, double within) {
  for (Index row = 0; row < x.rows; ++row) {
    const MergeRow r = merge_row(x, row);
    for (Index col = 0; col < x.cols; ++col) {
      const Index from = other.of(row, col, x.rows, x.cols);
      if (from < 0 || from >= x.rows) continue;  // outside this merge
      const auto [a, b] = weights_of(merge_row(x, from));
      const auto c = static_cast<std::size_t>(col);
      const double size = std::fabs(a * r.out_a[c]) + std::fabs(b * r.out_b[c]);
      if (!agree(r.out[c], a * r.out_a[c] + b * r.out_b[c], within, size)) return false;
    }
  }
  return true;
}

bool is_in_float(double number) { return number == static_cast<double>(static_cast<float>(number)); }

std::optional<Cause> cause_of_float_merge(const MergeExhibit& x) {
  constexpr double kDigit = 2.4e-7;  // of float, with room for a sum of two
  double most = 0, bare = 0;         // of the weighted terms, and of the incoming O
  bool out = true, sum = true;
  for (Index row = 0; row < x.rows; ++row) {
    const MergeRow r = merge_row(x, row);
    const auto [a, b] = weights_of(r);
    const auto look = [&](double got, double want, double size) {
      if (size > 0) most = std::max(most, std::fabs(got - want) / size);
      return std::fabs(got - want) <= kDigit * size;
    };
    const double digits = r.right_max() == kNoKey ? 0 : std::fabs(r.right_max());
    if (!agree(r.max, r.right_max(), kDigit) || kDigit * digits > 1e-3) return {};
    if (!r.normalized && !look(r.sum, a * r.sum_a + b * r.sum_b, a * r.sum_a + b * r.sum_b)) return {};
    sum = sum && is_in_float(r.sum);
    for (std::size_t c = 0; c < r.out.size(); ++c) {
      out = out && is_in_float(r.out[c]);
      bare = std::max(bare, std::fabs(r.out[c] - a * r.out_a[c] - b * r.out_b[c]) /
                                (std::fabs(r.out_a[c]) + std::fabs(r.out_b[c]) + 1e-300));
      if (!look(r.out[c], a * r.out_a[c] + b * r.out_b[c],
                (1 + digits) * (std::fabs(a * r.out_a[c]) + std::fabs(b * r.out_b[c]))))
        return {};
    }
  }
  constexpr double kLeastBare = 2e-9;
  if (most < kLeastOfFloat || (!out && !sum && (x.changed || bare < kLeastBare))) return {};
  return Cause{"solved-merge-float",
               out && sum ? "O and l are rounded to float at every merge"
               : out      ? "O is rounded to float at every merge"
               : sum      ? "l is rounded to float at every merge"
                          : "the weights of the merge are right to float's digits only",
               "In which type is each step of the merge computed, and in which is it kept?"};
}

}  // namespace

std::optional<Cause> cause_of_merged_elements(const MergeExhibit& x) {
  if (x.precision != DType::kFloat64 || x.rows < 1) return {};
  const OtherRow right{"", [](Index row, Index, Index, Index) { return row; }};
  if (const auto cause = cause_of_float_merge(x)) return cause;
  constexpr double kWithin = 1e-10, kSmallWrite = 1e-4;  // of a block that is written before it is read
  if (x.changed && gives_elements(x, right, kSmallWrite))
    return Cause{"solved-merge-writes", "the block, which is only to be read, is written",
                 "Whose memory is it that you write to?"};
  if (gives_elements(x, right, kWithin)) return {};
  for (const OtherRow& other : kOtherRows)
    if (x.rows > 1 && gives_elements(x, other, kWithin))
      return Cause{
          "solved-merge-rows",
          std::string("an element of O is merged with other weights than those of its row: ") + other.words,
          "Whose two weights belong to element (row, column) of O, and where does it lie in memory?"};
  return {};
}

}  // namespace ringcraft::verify
