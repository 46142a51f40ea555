// Solves for formulas with whole multiples by elimination, and proves them in integers.
#include "verify/diagnose/functions/formula.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace ringcraft::verify {
namespace {

constexpr double kZero = 1e-6;
constexpr Index kLargestMultiple = 9;  // larger multiples are implausible mistakes
constexpr std::size_t kToSpare = 2;    // samples beyond the number that any formula fits

using FormulaRows = std::vector<std::vector<double>>;

// Reduces a column to one row, which moves to index `top`. False if the rows from there on have only zeros in
// it.
bool eliminate(FormulaRows& rows, std::size_t top, std::size_t column) {
  const auto size = [=](const std::vector<double>& row) { return std::fabs(row[column]); };
  const auto pivot =
      std::ranges::max_element(rows.begin() + static_cast<std::ptrdiff_t>(top), rows.end(), {}, size);
  if (pivot == rows.end() || size(*pivot) < kZero) return false;
  std::swap(rows[top], *pivot);
  for (std::size_t r = 0; r < rows.size(); ++r) {
    if (r == top || size(rows[r]) < kZero) continue;
    const double factor = rows[r][column] / rows[top][column];
    for (std::size_t c = 0; c < rows[r].size(); ++c) rows[r][c] -= factor * rows[top][c];
  }
  return true;
}

bool gives(const std::vector<Index>& multiples, const FormulaSample& sample) {
  Index sum = 0;
  for (std::size_t i = 0; i < multiples.size(); ++i) sum += multiples[i] * sample.terms[i];
  return sum == sample.answer;
}

}  // namespace

std::optional<std::vector<Index>> whole_formula(const std::vector<FormulaSample>& samples) {
  if (samples.empty()) return {};
  const std::size_t terms = samples.front().terms.size();
  FormulaRows rows;
  for (const FormulaSample& sample : samples) {
    std::vector<double>& row = rows.emplace_back(sample.terms.begin(), sample.terms.end());
    row.push_back(static_cast<double>(sample.answer));
  }
  std::vector<std::size_t> solved;  // the quantity of each row from the first on
  for (std::size_t term = 0; term < terms && solved.size() < rows.size(); ++term)
    if (eliminate(rows, solved.size(), term)) solved.push_back(term);
  if (samples.size() < solved.size() + kToSpare) return {};
  std::vector<Index> multiples(terms, 0);
  for (std::size_t r = 0; r < solved.size(); ++r) {
    const double multiple = rows[r].back() / rows[r][solved[r]];
    if (!(std::fabs(multiple) <= static_cast<double>(kLargestMultiple) + 0.5)) return {};
    multiples[solved[r]] = std::llround(multiple);
  }
  const bool all = std::ranges::all_of(samples, [&](const FormulaSample& s) { return gives(multiples, s); });
  return all ? std::optional{multiples} : std::nullopt;
}

std::string formula_text(const std::vector<std::string>& names, const std::vector<Index>& multiples) {
  std::string added, constant, taken;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const Index m = multiples[i];
    if (m == 0) continue;
    const std::string size = std::to_string(std::abs(m));
    std::string& where = names[i].empty() && m < 0 ? constant : m > 0 ? added : taken;
    where += (m < 0 ? " - " : added.empty() ? "" : " + ");
    where += names[i].empty()   ? size
             : std::abs(m) == 1 ? names[i]
                                : size + (names[i].size() == 1 ? "" : " * ") + names[i];
  }
  const std::string text = added + constant + taken;
  return text.empty() ? "0" : text.starts_with(" - ") ? "-" + text.substr(3) : text;
}

}  // namespace ringcraft::verify
