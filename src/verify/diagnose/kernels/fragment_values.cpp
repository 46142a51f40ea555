// Explains wrong operands of O += P v: solves by least squares for the weight of each row of v, and for rows
// that see one key alone, finds the row of v that was used.
#include <algorithm>
#include <cmath>

#include "verify/diagnose/kernels/fragments.hpp"
#include "verify/diagnose/solve/line_system.hpp"

namespace ringcraft::verify {
namespace {

constexpr double kOfWeight = 0x1p-8, kFloor = 1e-4;
using Matrix8 = std::vector<std::vector<double>>;  // [rows, keys]

std::size_t at8(Index i) { return static_cast<std::size_t>(i); }

// The right weights, and the sum of each row.
struct Weights8 {
  Matrix8 weights;
  std::vector<double> sums;
};
Weights8 right_weights(const TileExhibit& t) {
  Matrix8 all(at8(t.rows), std::vector<double>(at8(t.keys)));
  std::vector<double> sums;
  for (Index row = 0; row < t.rows; ++row) {
    double largest = -HUGE_VAL, sum = 0;
    for (Index key = 0; key < t.keys; ++key) {
      double score = 0;
      for (Index d = 0; d < t.width; ++d) score += t.q[at8(row * t.width + d)] * t.k[at8(key * t.width + d)];
      largest = std::max(largest, all[at8(row)][at8(key)] = t.scale * score);
    }
    for (double& x : all[at8(row)]) sum += x = std::exp(x - largest);
    sums.push_back(sum);
  }
  return {std::move(all), std::move(sums)};
}

// The weights of the rows of v in O, not yet divided; empty if O is no weighted sum of them.
std::optional<Matrix8> solved_weights(const TileExhibit& t, const std::vector<double>& sums) {
  if (t.width < 2 * t.keys) return {};
  Matrix8 rows(at8(t.keys));
  for (Index key = 0; key < t.keys; ++key)
    rows[at8(key)].assign(t.v.begin() + key * t.width, t.v.begin() + (key + 1) * t.width);
  Matrix8 all;
  for (Index row = 0; row < t.rows; ++row) {
    auto [x, left] =
        least_squares(rows, {t.out.begin() + row * t.width, t.out.begin() + (row + 1) * t.width});
    if (!(left <= 1e-5)) return {};
    for (double& weight : x) weight *= sums[at8(row)];
    all.push_back(std::move(x));
  }
  return all;
}

double weight8(const Matrix8& m, const Eight& e, Index i, Index j) {
  return m[at8(kEight * e.row + i)][at8(kEight * e.column + (e.turned ? j ^ 1 : j))];
}

// Whether a matrix of eight of the solved weights is the sum of these right ones.
bool is_sum(const Matrix8& got, const Eight& where, const Matrix8& right, const std::vector<Eight>& parts) {
  for (Index i = 0; i < kEight; ++i)
    for (Index j = 0; j < kEight; ++j) {
      double sum = 0;
      for (const Eight& e : parts) sum += weight8(right, e, i, j);
      if (!(std::fabs(weight8(got, where, i, j) - sum) <= kOfWeight * sum + kFloor)) return false;
    }
  return true;
}

std::optional<Held> held_at(const Matrix8& got, const Eight& where, const Matrix8& right) {
  const auto rows = static_cast<Index>(right.size()) / kEight,
             keys = static_cast<Index>(right.front().size()) / kEight;
  if (is_sum(got, where, right, {})) return Held{};
  if (is_sum(got, where, right, {where})) return Held{{where, 1}};
  for (const bool turned : {false, true})
    for (Index row = 0; row < rows; ++row)
      for (Index key = 0; key < keys; ++key)
        if (is_sum(got, where, right, {{row, key, turned}})) return Held{{Eight{row, key, turned}, 1}};
  for (const Index row : {where.row, where.row ^ 1}) {
    std::vector<Eight> parts;  // of every 16 keys
    for (Index key = where.column % 2; key < keys; key += 2) parts.push_back({row, key});
    Held held;
    for (const Eight& e : parts) held[e] = 1;
    if (is_sum(got, where, right, parts)) return held;
    for (Index a = 0; a < keys; ++a)
      for (Index b = a + 1; b < keys; ++b)
        if (is_sum(got, where, right, {{row, a}, {row, b}}))
          return Held{{Eight{row, a}, 1}, {Eight{row, b}, 1}};
  }
  return {};
}

std::optional<Cause> cause_of_held_weights(const TileExhibit& t, const Matrix8& got, const Matrix8& right) {
  EightMap map;
  for (Index row = 0; row < t.rows / kEight; ++row)
    for (Index key = 0; key < t.keys / kEight; ++key) {
      const auto held = held_at(got, {row, key}, right);
      if (!held) return {};
      map[{row, key}] = *held;
    }
  return cause_of_map(Operand8::kWeight, map);
}

// Whether all weights are slightly too small: truncated, not rounded.
bool are_cut_off(const Matrix8& got, const Matrix8& right) {
  double sum = 0, count = 0;
  for (std::size_t row = 0; row < right.size(); ++row)
    for (std::size_t key = 0; key < right[row].size(); ++key) {
      if (right[row][key] < 1e-3) continue;
      const double error = got[row][key] / right[row][key] - 1;
      if (!(error < 1e-3 && error > -2 * kOfWeight)) return false;
      sum += error, ++count;
    }
  return count > 0 && sum / count < -0.25 * kOfWeight;
}

// Where in v the eight numbers at (key, column eight) of the answers for single keys come from: one place, or
// none.
std::optional<Held> held_value(const TileExhibit& t, Index key_eight, Index column_eight) {
  const auto claimed = [&](Index i, Index j) {
    return t.values[at8((kEight * key_eight + i) * t.width + kEight * column_eight + j)];
  };
  const auto is = [&](auto value) {
    for (Index i = 0; i < kEight; ++i)
      for (Index j = 0; j < kEight; ++j)
        if (!(std::fabs(claimed(i, j) - value(i, j)) <= 1e-6)) return false;
    return true;
  };
  if (is([](Index, Index) { return 0.0; })) return Held{};
  for (const bool turned : {false, true})
    for (Index key = 0; key < t.keys / kEight; ++key)
      for (Index column = 0; column < t.width / kEight; ++column)
        if (is([&](Index i, Index j) {
              const Index row = turned ? j : i, col = turned ? i : j;
              return t.v[at8((kEight * key + row) * t.width + kEight * column + col)];
            }))
          return Held{{Eight{key, column, turned}, 1}};
  return {};
}

std::optional<Cause> cause_of_placed_values(const TileExhibit& t) {
  if (static_cast<Index>(t.seen.size()) != t.keys) return {};
  EightMap map;
  for (Index key = 0; key < t.keys / kEight; ++key)
    for (Index column = 0; column < t.width / kEight; ++column) {
      const auto held = held_value(t, key, column);
      if (!held) return {};
      map[{key, column}] = *held;
    }
  return cause_of_map(Operand8::kValue, map);
}

// The cause if columns of O hold other columns, in the answers for single keys.
std::optional<Cause> cause_of_columns_of_out(const TileExhibit& t) {
  EightMap map;
  for (Index column = 0; column < t.width / kEight; ++column) {
    std::optional<Held> held;
    const auto is = [&](auto value) {
      for (std::size_t n = 0; n < t.seen.size(); ++n)
        for (Index j = 0; j < kEight; ++j)
          if (!(std::fabs(t.values[n * at8(t.width) + at8(kEight * column + j)] - value(t.seen[n], j)) <=
                1e-5))
            return false;
      return true;
    };
    if (is([](Index, Index) { return 0.0; })) held = Held{};
    for (Index other = 0; other < t.width / kEight && !held; ++other)
      for (const int times : {1, 2})
        if (is([&](Index key, Index j) { return times * t.v[at8(key * t.width + kEight * other + j)]; }))
          held = Held{{Eight{0, other}, times}};
    if (!held) return {};
    map[{0, column}] = *held;
  }
  return cause_of_map(Operand8::kOut, map);
}

}  // namespace

std::optional<Cause> cause_of_values(const std::vector<TileExhibit>& tiles) {
  for (const TileExhibit& t : tiles)
    if (!has_right_scores(t)) return {};
  for (const TileExhibit& t : tiles)
    if (auto cause = cause_of_columns_of_out(t)) return cause;
  for (const TileExhibit& t : tiles) {
    const Weights8 right = right_weights(t);
    if (const auto got = solved_weights(t, right.sums)) {
      if (const auto cause = cause_of_held_weights(t, *got, right.weights)) return cause;
      if (are_cut_off(*got, right.weights))
        return Cause{"fragment-cut-off",
                     "the weights are cut off to bf16 instead of being rounded to the nearest number of it",
                     "Which of the lower 16 bits decides whether a float32 is rounded up?"};
    }
  }
  for (const TileExhibit& t : tiles)
    if (const auto cause = cause_of_placed_values(t)) return cause;
  return {};
}

}  // namespace ringcraft::verify
