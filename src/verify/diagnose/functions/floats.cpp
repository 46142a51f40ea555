// Explains results that are wrong in float32 alone: double passed the same checks. The two types differ in
// range and in digits, and only one of the two instantiations may be written at all.
#include <algorithm>
#include <cmath>
#include <optional>

#include "ringcraft/attention/softmax.hpp"
#include "ringcraft/core/matrix.hpp"
#include "verify/diagnose/diagnose.hpp"
#include "verify/diagnose/functions/merge_row.hpp"

namespace ringcraft::verify {
namespace {

constexpr double kSafeScore = 80;      // in size: its exponential is an ordinary float, with room for a sum
constexpr double kBeyondFloat = 1e-5;  // relative to a number's terms: more than rounding in float makes

// One row of any exhibit.
struct RowInFloat {
  double largest;    // score in size, or maximum that was passed in
  bool is_number;    // its result
  double error = 0;  // relative to its terms
};

double size_in_floats(double score) { return std::isfinite(score) ? std::fabs(score) : 0; }

void note_rows(std::vector<RowInFloat>& all, const ScanExhibit& x) {
  for (const ScoreScan& row : x.rows) {
    const SoftmaxState<double> want =
        online_scan<double>(row.scores, SoftmaxState<double>{row.max_before, row.sum_before});
    double largest = size_in_floats(row.max_before);
    for (const double score : row.scores) largest = std::max(largest, size_in_floats(score));
    const auto look = [&](double got, double right) {
      all.push_back({largest, std::isfinite(got) || got == right,
                     got == right ? 0 : std::fabs(got - right) / (1 + largest)});
    };
    if (row.state && want.sum > 0)
      look(row.state->first + std::log(row.state->second), want.max + std::log(want.sum));
    for (std::size_t j = 0; j < row.weights.size() && want.sum > 0; ++j)
      look(row.weights[j], std::exp(row.scores[j] - want.max) / want.sum);
  }
}

void note_rows(std::vector<RowInFloat>& all, const MergeExhibit& x) {
  for (Index i = 0; i < x.rows; ++i) {
    const MergeRow r = merge_row(x, i);
    const double largest = std::max(size_in_floats(r.max_a), size_in_floats(r.max_b));
    if (r.max_a == kNoKey && r.max_b == kNoKey) continue;
    const double m = r.right_max();
    const double want = m + std::log(std::exp(r.max_a - m) * r.sum_a + std::exp(r.max_b - m) * r.sum_b);
    const double got = r.max + std::log(r.sum);
    all.push_back({largest, std::isfinite(got), std::fabs(got - want) / (1 + largest)});
  }
}

// The largest visible score of row i in size, of all heads and batch entries.
double largest_visible_score(const AttentionExhibit& x, std::size_t i) {
  const BlockProblem& p = x.problem;
  double largest = 0;
  for (Index batch = 0; batch < p.batch; ++batch)
    for (Index h = 0; h < p.heads; ++h) {
      const auto q = head_of<double>(x.inputs.q, batch, h);
      const auto k = head_of<double>(x.inputs.k, batch, h / (p.heads / p.kv_heads));
      for (std::size_t j = 0; j < p.keys.size(); ++j) {
        if (!visible(p.mask, p.queries[i], p.keys[j])) continue;
        double score = 0;
        for (Index c = 0; c < p.head_dim; ++c)
          score += q(static_cast<Index>(i), c) * k(static_cast<Index>(j), c);
        largest = std::max(largest, size_in_floats(p.softmax_scale * score));
      }
    }
  return largest;
}

void note_rows(std::vector<RowInFloat>& all, const AttentionExhibit& x) {
  constexpr double kOfBound =
      12 * 0x1p-24;  // a bound is 12 deviations, and one of them a rounding of the terms
  for (std::size_t i = 0; i < x.problem.queries.size(); ++i) {
    const double largest = largest_visible_score(x, i);
    for (const TensorComparison& tensor : x.comparison.tensors) {
      if (tensor.name == "dk" || tensor.name == "dv") continue;  // sums over rows
      const auto wrong = tensor.wrong_rows.find(static_cast<Position>(i));
      const bool right = wrong == tensor.wrong_rows.end();
      all.push_back({largest, right || std::isfinite(wrong->second.got),
                     right ? 0 : kOfBound * wrong->second.error / wrong->second.bound});
    }
  }
}

std::vector<RowInFloat> rows_in_floats(const std::vector<Exhibit>& exhibits) {
  std::vector<RowInFloat> all;
  for (const Exhibit& exhibit : exhibits)
    std::visit(
        [&](const auto& one) {
          if constexpr (requires { note_rows(all, one); }) note_rows(all, one);
        },
        *exhibit);
  return all;
}

bool holds_unwritten(const Exhibit& exhibit) {
  if (const auto* const scan = std::get_if<ScanExhibit>(exhibit.get()))
    return std::ranges::any_of(
        scan->rows, [](const ScoreScan& row) { return std::ranges::any_of(row.weights, is_unwritten); });
  const auto* const x = std::get_if<AttentionExhibit>(exhibit.get());
  return x != nullptr && std::ranges::any_of(x->comparison.tensors, [](const TensorComparison& tensor) {
           return std::ranges::any_of(tensor.wrong_rows,
                                      [](const auto& row) { return is_unwritten(row.second.got); });
         });
}

// The rows that are no numbers are those with scores that only double can take the exponential of.
std::optional<Cause> cause_of_range(const std::vector<Exhibit>& exhibits) {
  if (std::ranges::any_of(exhibits, holds_unwritten)) return {};
  const std::vector<RowInFloat> rows = rows_in_floats(exhibits);
  const bool any = std::ranges::any_of(rows, [](const RowInFloat& row) { return !row.is_number; });
  const bool beyond = std::ranges::all_of(rows, [](const RowInFloat& row) {
    return row.largest > kSafeScore || (row.is_number && row.error <= kBeyondFloat);
  });
  if (!any || !beyond) return {};
  return Cause{"float-range",
               "NaN or infinity comes with scores beyond 80 or so: an exponential is taken that double "
               "holds (up to 709, down to -745), and float does not (up to 88, down to -104)",
               "Can any of your exponents be positive, or all of a row's be far below zero?"};
}

// Gradients that are all zero.
std::optional<Cause> cause_of_no_gradient(const std::vector<Exhibit>& exhibits) {
  const auto nothing = [](const Exhibit& exhibit) {
    const auto* const x = std::get_if<AttentionExhibit>(exhibit.get());
    if (x == nullptr || x->claim.dq.empty()) return false;
    for (const Buffer* gradient : {&x->claim.dq, &x->claim.dk, &x->claim.dv})
      for (const double number : gradient->values<double>())
        if (number != 0) return false;
    return true;
  };
  if (exhibits.empty() || !std::ranges::all_of(exhibits, nothing)) return {};
  return Cause{"float-no-gradient", "dq, dk and dv stay as they were: nothing is ever added to them",
               "Which lines of yours run for this type, and where do they write?"};
}

// Numbers that are right to some digits, and wrong beyond them.
std::optional<Cause> cause_of_digits(const std::vector<Exhibit>& exhibits) {
  constexpr double kHalf = 0x1p-6, kFloat = 0x1p-16;
  double worst = 0;
  for (const RowInFloat& row : rows_in_floats(exhibits)) {
    if (!row.is_number || !(row.error <= kHalf)) return {};
    worst = std::max(worst, row.error);
  }
  if (worst < kFloat) return {};
  return Cause{"float-digits",
               "every number is right to two or three digits: something is kept with about as many as a "
               "half-precision type has (8 to 11 binary ones), where float has 24",
               "In which type is each step computed, and how many digits has it?"};
}

}  // namespace

std::vector<Cause> causes_in_floats(const std::vector<Exhibit>& exhibits) {
  if (const auto cause = cause_of_range(exhibits)) return {*cause};
  if (const auto cause = cause_of_no_gradient(exhibits)) return {*cause};
  std::vector<Cause> causes = causes_of(exhibits);
  if (causes.empty())
    if (const auto cause = cause_of_digits(exhibits)) causes.push_back(*cause);
  return causes;
}

}  // namespace ringcraft::verify
