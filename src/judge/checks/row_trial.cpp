// Makes rows of scores of every kind, computes their softmax in long double, and compares.
#include "judge/checks/row_trial.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <optional>

#include "judge/checks/lesson.hpp"
#include "ringcraft/core/shown.hpp"

namespace ringcraft::judge {
namespace {

constexpr long double kInfinity = std::numeric_limits<long double>::infinity();
constexpr double kSpread = 1.5;  // of moderate scores

// The difference of numbers too small for full precision.
long double tiny(DType precision) { return precision == DType::kFloat64 ? 1e-300L : 1e-36L; }

ScoreRow random_row(Random& random, std::string name, Index length, double centre = 0) {
  ScoreRow row{std::move(name), {}};
  for (Index j = 0; j < length; ++j) row.scores.push_back(centre + kSpread * random.normal());
  return row;
}

// Rows of seven scores around each of these centres.
std::vector<ScoreRow> rows_near(std::uint64_t seed, std::initializer_list<double> centres) {
  Random random(seed);
  std::vector<ScoreRow> rows;
  for (const double centre : centres)
    rows.push_back(random_row(random, "scores near " + text_of(centre), 7, centre));
  return rows;
}

}  // namespace

ExactSoftmax exact_softmax(std::span<const double> scores) {
  ExactSoftmax exact{-kInfinity, 0, -kInfinity, 1, {}, {}};
  for (const double s : scores) exact.max = std::max<long double>(exact.max, s);
  exact.weights.assign(scores.size(), 0);
  exact.scales.assign(scores.size(), 0);
  if (exact.max == -kInfinity) return exact;
  for (std::size_t j = 0; j < scores.size(); ++j) {
    exact.weights[j] = std::exp(scores[j] - exact.max);
    exact.sum += exact.weights[j];
  }
  exact.lse = exact.max + std::log(exact.sum);
  long double condition = 0;  // the weighted mean of 1 + |score|
  for (std::size_t j = 0; j < scores.size(); ++j) {
    long double& weight = exact.weights[j];
    weight /= exact.sum;
    exact.scales[j] = weight > 0 ? 1 + std::fabs(scores[j]) : 0;
    condition += weight * exact.scales[j];
  }
  for (std::size_t j = 0; j < scores.size(); ++j)
    exact.scales[j] = exact.weights[j] * (exact.scales[j] + condition);
  exact.lse_scale = 1 + condition;
  return exact;
}

std::vector<ScoreRow> ordinary_rows(std::uint64_t seed) {
  Random random(seed);
  std::vector<ScoreRow> rows;
  for (const Index length : {2, 3, 4, 5, 7, 8, 13, 16, 21, 31, 33, 40})
    rows.push_back(random_row(random, counted(length, "score"), length));
  return rows;
}

std::vector<ScoreRow> high_rows(std::uint64_t seed) {
  std::vector<ScoreRow> rows = rows_near(seed, {800, 1000, 2e4, 1e5});
  rows.push_back({"a single score of 1e300", {1e300}});
  return rows;
}

std::vector<ScoreRow> low_rows(std::uint64_t seed) {
  std::vector<ScoreRow> rows = rows_near(seed, {-800, -1000, -2e4, -1e5});
  rows.push_back({"a single score of -1e300", {-1e300}});
  return rows;
}

std::vector<ScoreRow> gap_rows(std::uint64_t seed) {
  Random random(seed);
  std::vector<ScoreRow> rows;
  const auto add = [&](const char* name, std::initializer_list<double> centres) {
    ScoreRow& row = rows.emplace_back(ScoreRow{name, {}});
    for (const double centre : centres) row.scores.push_back(centre + random.uniform());
  };
  add("0 and then 800", {0, 0, 800, 800});
  add("800 and then 0", {800, 800, 0, 0});
  add("-800 and then 0", {-800, -800, 0, 0});  // the largest magnitude is not the maximum
  add("0 and then -800", {0, 0, -800, -800});
  add("-20000 and then 20000", {-2e4, -2e4, 2e4, 2e4});
  add("20000 and then -20000", {2e4, 2e4, -2e4, -2e4});
  add("steps of 1000 upwards", {-2000, -1000, 0, 1000, 2000});
  add("steps of 1000 downwards", {2000, 1000, 0, -1000, -2000});
  add("up and down", {0, 900, -900, 1800, -1800, 1800});
  return rows;
}

std::vector<ScoreRow> partly_seen_rows(std::uint64_t seed) {
  Random random(seed);
  std::vector<ScoreRow> rows;
  const auto add = [&](const char* name, Index length, double centre, auto seen) {
    rows.push_back(random_row(random, name, length, centre));
    for (Index j = 0; j < length; ++j)
      if (!seen(j)) rows.back().scores[static_cast<std::size_t>(j)] = static_cast<double>(-kInfinity);
  };
  add("-inf comes first", 6, 0, [](Index j) { return j > 0; });
  add("-inf comes last", 6, 0, [](Index j) { return j < 5; });
  add("-inf in the middle", 7, -3, [](Index j) { return j != 3; });
  add("every second score is -inf", 9, 0, [](Index j) { return j % 2 == 1; });
  add("a single score after five of -inf", 6, -2e4, [](Index j) { return j == 5; });
  add("a single score before five of -inf", 6, 2e4, [](Index j) { return j == 0; });
  return rows;
}

std::vector<ScoreRow> telling_rows(std::uint64_t seed) {
  Random random(seed);
  std::vector<ScoreRow> rows;
  // The distance below the initial maximum at which a score is lost, and the score at which exp overflows.
  for (const double centre :
       {-1e300, -1e200, -1e39,  -1e34, -1e22, -1e13, -1.5e9, -2e7,  -1.2e6, -1.005e5, -1e4, -6e3,
        -2e3,   -1.5e3, -1.2e3, -1e3,  -840., -780., -750.,  -400., 300.,   720.,     1e39})
    rows.push_back({"two scores near " + text_of(centre), {centre, centre + random.uniform()}});
  rows.push_back({"a low row of many magnitudes", {-390, -410, -375, -420}});
  rows.push_back({"a low score among others", {3, -600, 12}});
  rows.push_back({"a lower score among others", {500, -900, 510, 2}});
  const auto add_peak = [&](Index length, Index at, double height) {
    rows.push_back(random_row(random, counted(length, "score") + " with a peak", length));
    rows.back().scores[static_cast<std::size_t>(at)] += height;
  };
  for (const Index length : {3, 6})
    for (Index at = 0; at < length; ++at) add_peak(length, at, 900);
  for (const auto& [length, at] : {std::pair<Index, Index>{17, 9},
                                   {40, 20},
                                   {70, 40},
                                   {70, 68},
                                   {150, 110},
                                   {300, 200},
                                   {300, 298},
                                   {1100, 600},
                                   {1100, 1030}})
    add_peak(length, at, 900);
  for (const Index length : {65, 101, 131, 259})
    rows.push_back(random_row(random, counted(length, "score"), length));
  return rows;
}

ScoreRow shuffled(ScoreRow row, Random& random) {
  row.name += ", shuffled";
  for (Index left = static_cast<Index>(row.scores.size()); left > 1; --left)
    std::swap(row.scores[static_cast<std::size_t>(left - 1)],
              row.scores[static_cast<std::size_t>(random.integer(0, left - 1))]);
  return row;
}

std::vector<ScoreRow> all_rows(std::uint64_t seed) {
  std::vector<ScoreRow> rows;
  for (const auto make : {ordinary_rows, high_rows, low_rows, gap_rows, partly_seen_rows})
    for (ScoreRow& row : make(seed)) rows.push_back(std::move(row));
  return rows;
}

std::vector<ScoreRow> rows_for_floats(std::uint64_t seed) {
  Random random(seed);
  std::vector<ScoreRow> rows = all_rows(seed);
  for (const double centre : {100.0, -110.0, 300.0, -300.0}) {
    rows.push_back({"scores near " + text_of(centre), {}});
    for (int j = 0; j < 7; ++j) rows.back().scores.push_back(centre + 1.5 * random.normal());
  }
  rows.push_back({"1000 scores", {}});
  for (int j = 0; j < 1000; ++j) rows.back().scores.push_back(random.normal());
  return rows;
}

std::vector<ScoreRow> rounded(std::vector<ScoreRow> rows, DType precision) {
  if (precision == DType::kFloat64) return rows;
  std::erase_if(rows, [](const ScoreRow& row) {
    return std::ranges::any_of(row.scores,
                               [](double s) { return std::isfinite(s) != std::isfinite(as_float(s)); });
  });
  for (ScoreRow& row : rows)
    for (double& score : row.scores) score = as_float(score);
  return rows;
}

long double tolerance_of(DType precision) { return precision == DType::kFloat64 ? 1e-12L : 0x1p-19L; }

void require_close(const std::string& where, double got, long double want, long double scale,
                   DType precision) {
  const long double error = std::fabs(static_cast<long double>(got) - want);
  if (static_cast<double>(want) == got || error <= tolerance_of(precision) * scale + tiny(precision))
    return;  // NaN fails both
  const std::string share = std::isfinite(got) && scale > 0
                                ? "; the error is " + text_of(static_cast<double>(error / scale)) +
                                      " of the sum of its absolute terms, rounding makes less than " +
                                      (precision == DType::kFloat64 ? "1e-12" : "2e-6")
                                : "";
  if (std::isnan(want))
    throw Wrong(sign_of(got), "number", "{} is no number", where);  // nor is what it must equal
  throw Wrong(sign_of(got), "number", "{} is {}, and must be {}{}", where, digits_of(got),
              digits_of(static_cast<double>(want)), share);
}

void require_each(const std::string& tensor, Index rows, const std::function<void(Index)>& look) {
  std::optional<Wrong> first;
  std::string signs(static_cast<std::size_t>(rows), sign::kPassed);
  for (Index row = 0; row < rows; ++row) try {
      look(row);
    } catch (const Wrong& wrong) {
      signs[static_cast<std::size_t>(row)] = wrong.sign;
      if (!first) first = wrong;
    }
  if (first) throw first->showing({{tensor, {signs}}});
}

}  // namespace ringcraft::judge
