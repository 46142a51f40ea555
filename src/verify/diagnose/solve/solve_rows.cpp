// Recognises rows of out that are right up to a factor, and a wrong lse: solves for the factor of each row,
// and for the terms of lse, and names them.
#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <utility>

#include "ringcraft/core/matrix.hpp"
#include "verify/diagnose/solve/line_system.hpp"
#include "verify/diagnose/solve/solve_detail.hpp"
#include "verify/diagnose/twisted/twisted_ring_detail.hpp"

namespace ringcraft::verify {
namespace {

// One row of right attention, and the claimed one.
struct SeenRow {
  Index batch, head, row;
  double max, log_sum;  // of right attention: lse = max + log_sum
};

std::vector<SeenRow> rows_with_keys(const Evidence& e) {
  std::vector<SeenRow> rows;
  const auto all = sampled({std::vector<Index>(e.problem.queries.size())}, 64)[0];
  for (Index b = 0; b < e.problem.batch; ++b)
    for (Index h = 0; h < e.problem.heads; ++h)
      for (const Index row : all) {
        if (!e.looks_at({b, h, row})) continue;
        double max = -HUGE_VAL;
        for (Index key = 0; key < static_cast<Index>(e.problem.keys.size()); ++key)
          if (visible(e.problem.mask, e.problem.queries[static_cast<std::size_t>(row)],
                      e.problem.keys[static_cast<std::size_t>(key)]))
            max = std::max(max, e.problem.softmax_scale * product_of(e, Setting{}, b, h, row, key));
        if (max == -HUGE_VAL) continue;
        rows.push_back({b, h, row, max, row_of(e.oracle.value.lse, b, h, row)[0] - max});
      }
  return rows;
}

// Every row's factor; empty if a row is no multiple of the right one.
std::optional<std::vector<double>> factors(const Evidence& e, const std::vector<SeenRow>& rows) {
  std::vector<double> all;
  for (const SeenRow& r : rows) {
    const auto got = row_of(e.claim.out, r.batch, r.head, r.row),
               want = row_of(e.oracle.value.out, r.batch, r.head, r.row);
    const auto t = tolerance_of(e, e.claim.out, e.units().out, e.oracle.scale.out, r.batch, r.head, r.row);
    double product = 0, square = 0;
    for (std::size_t c = 0; c < got.size(); ++c)
      product += got[c] * want[c] / (t[c] * t[c]), square += want[c] * want[c] / (t[c] * t[c]);
    const double factor = square > 0 ? product / square : 0;
    if (!(std::fabs(factor) > 1e-9)) return {};  // neither zeros nor NaN tell anything
    for (std::size_t c = 0; c < got.size(); ++c)
      if (!(std::fabs(got[c] - factor * want[c]) <= 12 * t[c] * std::max(1.0, std::fabs(factor)))) return {};
    all.push_back(factor);
  }
  return all;
}

// Relative range of the numbers: their spread over the largest.
double spread(const std::vector<double>& x) {
  const auto [low, high] = std::ranges::minmax(x);
  return (high - low) / std::max({std::fabs(low), std::fabs(high), 1e-300});
}
bool constant(const std::vector<double>& x, double within) { return spread(x) <= within; }

std::optional<Cause> cause_of_factors(const Evidence& e, const std::vector<SeenRow>& rows,
                                      const std::vector<double>& f) {
  constexpr const char* kQuestion = "By what is a row of O divided at the end, and when?";
  const double within = e.precision == DType::kFloat64 ? 1e-9 : e.precision == DType::kFloat32 ? 1e-3 : 5e-2;
  std::vector<double> times_sum, over_sum, epsilon;
  for (std::size_t i = 0; i < f.size(); ++i) {
    const double sum = std::exp(rows[i].log_sum);
    times_sum.push_back(f[i] / sum), over_sum.push_back(f[i] * sum);
    epsilon.push_back(sum * (1 / f[i] - 1));
  }
  const bool sums_differ = !constant(f, 0.02 * spread(epsilon) + within * 1e-2);
  const bool about_1 = std::fabs(f[0] - 1) <= 2 * within;  // as rounding leaves it
  if (constant(f, within) && about_1) return {};
  if (constant(f, within) && !(sums_differ && constant(epsilon, 0.2) && epsilon[0] > 0))
    return Cause{"solved-out-factor",
                 "out is " + short_number(f[0]) + " times what it should be in every row", kQuestion};
  if (constant(times_sum, within))
    return Cause{
        "RF9",
        "out is not divided by l" +
            (std::fabs(times_sum[0] - 1) < within ? "" : ", but multiplied by " + short_number(times_sum[0])),
        kQuestion};
  if (constant(over_sum, within)) return Cause{"solved-out-twice", "out is divided by l twice", kQuestion};
  if (constant(epsilon, e.precision == DType::kFloat64 ? 1e-2 : 0.2) && epsilon[0] > 0 &&
      std::isfinite(epsilon[0]))
    return Cause{"solved-out-epsilon", "out is divided by l + " + short_number(epsilon[0]) + " instead of l",
                 kQuestion};
  if (*std::ranges::min_element(f) <= 0) return {};
  return Cause{"solved-out-rows",
               "the rows of out are right but for a factor of each row, from " +
                   short_number(*std::ranges::min_element(f)) + " to " +
                   short_number(*std::ranges::max_element(f)) +
                   ": the weights are right among themselves and do not add up to 1",
               kQuestion};
}

// The cause if lse = a maximum + b log(sum) + c, with a, b, c that give every row.
std::optional<Cause> cause_of_lse(const Evidence& e, const std::vector<SeenRow>& rows) {
  std::vector<std::vector<double>> columns(3);
  std::vector<double> wanted;
  for (const SeenRow& r : rows) {
    const double t =
        tolerance_of(e, e.claim.lse, e.units().lse, e.oracle.scale.lse, r.batch, r.head, r.row)[0];
    const double got = row_of(e.claim.lse, r.batch, r.head, r.row)[0];
    if (!std::isfinite(got)) return {};
    wanted.push_back(got / t);
    columns[0].push_back(r.max / t), columns[1].push_back(r.log_sum / t), columns[2].push_back(1 / t);
  }
  if (wanted.size() < 5) return {};
  // A maximum or a sum that hardly shows in any row tells no factor: it counts as right.
  constexpr double kLeast = 100;  // in tolerances
  std::array<bool, 2> shows{};
  for (std::size_t c = 0; c < shows.size(); ++c) {
    shows[c] = std::ranges::any_of(columns[c], [](double term) { return std::fabs(term) >= kLeast; });
    if (shows[c]) continue;
    for (std::size_t i = 0; i < wanted.size(); ++i) wanted[i] -= std::exchange(columns[c][i], 0);
  }
  auto [x, left] = least_squares(columns, wanted);
  for (std::size_t c = 0; c < shows.size(); ++c)
    if (!shows[c]) x[c] = 1;
  if (!(left <= 2 * yardsticks_of(e).threshold)) return {};
  constexpr double kApart = 1e-4;  // nearer factors are not told apart
  if (std::fabs(x[0] - 1) < kApart && std::fabs(x[1] - 1) < kApart && std::fabs(x[2]) <= kApart) return {};
  const auto times = [](double factor, const char* what) {
    if (std::fabs(factor) < kApart) return std::string();
    if (std::fabs(factor - 1) < kApart) return std::string(what);
    if (std::fabs(factor * 0.69314718055994531 - 1) < kApart) return std::string(what) + " / ln 2";
    if (std::fabs(factor / 0.69314718055994531 - 1) < kApart) return std::string(what) + " * ln 2";
    return short_number(factor) + " " + what;
  };
  std::string sum;
  for (const std::string& term : {times(x[0], "maximum"), times(x[1], "log(sum)"),
                                  std::fabs(x[2]) > kApart ? short_number(x[2]) : std::string()})
    if (!term.empty()) sum += (sum.empty() ? "" : " + ") + term;
  return Cause{
      "solved-lse", "lse is " + (sum.empty() ? "0" : sum) + " instead of maximum + log(sum)",
      "To which base are the maximum and the logarithm, and what does lse hold beyond the largest score?"};
}

}  // namespace

SolvedPass solve_rows(const Evidence& e) {
  const std::vector<SeenRow> rows = rows_with_keys(e);
  SolvedPass result{.setting = settings_of(e).front()};
  if (rows.size() < 4) return result;
  result.solved = true;
  if (e.is_wrong("out")) {
    const auto each = factors(e, rows);
    const auto cause = each ? cause_of_factors(e, rows, *each) : std::nullopt;
    if (cause) result.causes.push_back(*cause);
    result.solved = cause.has_value();
  }
  if (e.is_wrong("lse")) {
    const auto cause = cause_of_lse(e, rows);
    if (cause) result.causes.push_back(*cause);
    result.solved = result.solved && cause;
  }
  return result;
}

}  // namespace ringcraft::verify
