// Merge: the identity, known values, any order and bracketing, hot and far-apart maxima, both forms of a
// partial result.
#include "ringcraft/attention/merge.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "ringcraft/attention/blockwise.hpp"
#include "ringcraft/core/random.hpp"
#include "support/catch.hpp"
#include "support/compare.hpp"
#include "support/none.hpp"

using namespace ringcraft;
using testing::kNone;
using namespace ringcraft::testing;

namespace {

// A partial result with its memory: `rows` rows of `cols` columns.
struct Owned {
  Owned(Index row_count, Index col_count)
      : rows(row_count),
        cols(col_count),
        out(static_cast<std::size_t>(rows * cols), 0.0),
        max(static_cast<std::size_t>(rows), kNone<double>),
        sum(static_cast<std::size_t>(rows), 0.0) {}
  Index rows, cols;
  std::vector<double> out, max, sum;

  Partial<double> view() { return {{out, rows, cols}, max, sum}; }
  friend bool operator==(const Owned&, const Owned&) = default;
};

Owned merged(Owned a, Owned b) {
  merge<double>(a.view(), b.view());
  return a;
}

// Keys of all rows: score [row][key] and value [key][col].
struct Keys {
  std::vector<std::vector<double>> scores, values;
};

Keys random_keys(Random& random, std::size_t rows, std::size_t keys, std::size_t cols, double spread) {
  Keys all{std::vector(rows, std::vector<double>(keys)), std::vector(keys, std::vector<double>(cols))};
  for (auto& row : all.scores)
    for (double& s : row) s = random.integer(0, 3) == 0 ? kNone<double> : spread * random.normal();
  for (auto& row : all.values)
    for (double& v : row) v = random.normal();
  return all;
}

// The partial result over some of the keys, by definition.
Owned partial_of(const Keys& all, const std::vector<std::size_t>& chosen) {
  Owned p(static_cast<Index>(all.scores.size()), static_cast<Index>(all.values[0].size()));
  for (std::size_t i = 0; i < all.scores.size(); ++i) {
    for (const std::size_t j : chosen) p.max[i] = std::max(p.max[i], all.scores[i][j]);
    for (const std::size_t j : chosen) {
      if (all.scores[i][j] == kNone<double>) continue;
      const double weight = std::exp(all.scores[i][j] - p.max[i]);
      p.sum[i] += weight;
      for (std::size_t c = 0; c < all.values[j].size(); ++c)
        p.out[i * all.values[j].size() + c] += weight * all.values[j][c];
    }
  }
  return p;
}

double distance(const Owned& a, const Owned& b) {
  return std::max(
      {difference<double>(a.out, b.out), difference<double>(a.max, b.max), difference<double>(a.sum, b.sum)});
}

// Merges (out, lse) pairs of one row and one column.
struct Normalized {
  double out, lse;
  friend bool operator==(const Normalized&, const Normalized&) = default;
};

Normalized merged(Normalized a, Normalized b) {
  merge_normalized<double>({{&a.out, 1}, 1, 1}, {&a.lse, 1}, {{&b.out, 1}, 1, 1}, {&b.lse, 1});
  return a;
}

}  // namespace

TEST_CASE("the identity merges with itself and changes nothing else") {
  const Owned identity(3, 2);
  CHECK(merged(identity, identity) == identity);
  Random random(81);
  const Owned p = partial_of(random_keys(random, 3, 5, 2, 10), {0, 1, 2, 3, 4});
  CHECK(merged(p, identity) == p);
  CHECK(merged(identity, p) == p);
  CHECK(merged(Normalized{0, kNone<double>}, Normalized{0, kNone<double>}) == Normalized{0, kNone<double>});
}

TEST_CASE("known values") {
  for (const double lse : {1000.0, -1000.0, 0.0}) {
    const Normalized both = merged(Normalized{1, lse}, Normalized{3, lse});
    CHECK(both.out == 2.0);
    CHECK(std::fabs(both.lse - (lse + 0.6931471805599453)) <= 1e-13);
  }
  CHECK(merged(Normalized{5, 3}, Normalized{7, kNone<double>}) == Normalized{5, 3});
  CHECK(merged(Normalized{7, kNone<double>}, Normalized{5, 3}) == Normalized{5, 3});
  const Normalized quarter = merged(Normalized{4, 0}, Normalized{8, std::log(3.0)});
  CHECK(std::fabs(quarter.out - 7.0) <= 1e-15 * 7);
  CHECK(std::fabs(quarter.lse - std::log(4.0)) <= 1e-15);

  Owned a(1, 1), b(1, 1);
  a.out = {2}, a.max = {1}, a.sum = {1};
  b.out = {9}, b.max = {1 + std::log(2.0)}, b.sum = {3};
  const Owned ab = merged(a, b);  // weights 1/2 and 1
  CHECK(ab.max == b.max);
  CHECK(std::fabs(ab.sum[0] - 3.5) <= 1e-15 * 3.5);
  CHECK(std::fabs(ab.out[0] - 10.0) <= 1e-14);
}

TEST_CASE("a merge is not idempotent: keys seen twice count twice") {
  Owned a(1, 1);
  a.out = {2}, a.max = {3}, a.sum = {1};
  const Owned twice = merged(a, a);
  CHECK(twice.sum[0] == 2.0);
  CHECK(twice.out[0] == 4.0);
  CHECK(twice.max[0] == 3.0);
}

TEST_CASE("any order and any bracketing give the partial of all keys") {
  Random random(82);
  for (int trial = 0; trial < 300; ++trial) {
    const double spread = std::vector{0.1, 1.0, 30.0, 1e4}[static_cast<std::size_t>(random.integer(0, 3))];
    const auto keys = static_cast<std::size_t>(random.integer(1, 12));
    const Keys all = random_keys(random, 4, keys, 3, spread);
    // Deal the keys to 1 to 5 pieces, empty ones included, and merge random pairs of pieces until one is
    // left.
    std::vector<std::vector<std::size_t>> chosen(static_cast<std::size_t>(random.integer(1, 5)));
    std::vector<std::size_t> everything;
    for (std::size_t j = 0; j < keys; ++j) {
      chosen[static_cast<std::size_t>(random.integer(0, static_cast<Index>(chosen.size()) - 1))].push_back(j);
      everything.push_back(j);
    }
    std::vector<Owned> pieces;
    for (const auto& c : chosen) pieces.push_back(partial_of(all, c));
    while (pieces.size() > 1) {
      const auto i = static_cast<std::size_t>(random.integer(0, static_cast<Index>(pieces.size()) - 1));
      std::swap(pieces[i], pieces.back());
      const Owned taken = std::move(pieces.back());
      pieces.pop_back();
      auto& into = pieces[static_cast<std::size_t>(random.integer(0, static_cast<Index>(pieces.size()) - 1))];
      into = merged(into, taken);
    }
    CAPTURE(trial, spread, keys);
    CHECK(distance(pieces[0], partial_of(all, everything)) <= 2e-15 * static_cast<double>(keys));
  }
}

TEST_CASE("maxima that are far apart leave the larger side bitwise") {
  for (const double gap : {800.0, 2e4, 1e300}) {
    Owned high(1, 2), low(1, 2);
    high.out = {0.3, -7}, high.max = {gap / 2}, high.sum = {1.7};
    low.out = {1e10, 5}, low.max = {-gap / 2}, low.sum = {1e10};
    CHECK(merged(high, low) == high);
    CHECK(merged(low, high) == high);
  }
}

TEST_CASE("both forms of a partial result agree") {
  Random random(83);
  for (int trial = 0; trial < 100; ++trial) {
    const Keys all = random_keys(random, 5, 6, 3, trial % 2 == 0 ? 1.0 : 500.0);
    Owned a = partial_of(all, {0, 2, 5}), b = partial_of(all, {1, 3, 4});
    Owned joined = merged(a, b);
    for (Owned* p : {&a, &b, &joined}) finish(p->view());  // max now holds lse
    merge_normalized<double>(a.view().out, a.max, Matrix<const double>(b.view().out), b.max);
    CHECK(difference<double>(a.out, joined.out) <= 1e-14);
    CHECK(difference<double>(a.max, joined.max) <= 1e-14);
  }
}

TEST_CASE("finish divides by l and turns m into lse, empty rows stay 0 and minus infinity") {
  Owned p(3, 2);
  p.out = {0, 0, 6, 9, 1, -1}, p.max = {kNone<double>, 4, -1000}, p.sum = {0, 3, 1};
  finish(p.view());
  CHECK(p.out == std::vector<double>{0, 0, 2, 3, 1, -1});
  CHECK(p.max == std::vector<double>{kNone<double>, 4 + std::log(3.0), -1000});
}

TEST_CASE("merge in float, and rows do not mix") {
  std::vector<float> out{1, 2, 3, 4}, max{0, -std::numeric_limits<float>::infinity()}, sum{1, 0};
  std::vector<float> block_out{10, 20, 30, 40}, block_max{0, 2}, block_sum{1, 5};
  merge<float>({{out, 2, 2}, max, sum}, {{block_out, 2, 2}, block_max, block_sum});
  CHECK(out == std::vector<float>{11, 22, 30, 40});
  CHECK(max == std::vector<float>{0, 2});
  CHECK(sum == std::vector<float>{2, 5});
}

TEST_CASE("NaN of either side is never hidden") {
  const double nan = std::nan("");
  for (const Normalized other : {Normalized{1, 2}, Normalized{0, kNone<double>}})
    for (const Normalized bad : {Normalized{nan, 1}, Normalized{1, nan}, Normalized{nan, nan}}) {
      CHECK(std::isnan(merged(other, bad).out));
      CHECK(std::isnan(merged(bad, other).out));
      if (std::isnan(bad.lse))
        CHECK((std::isnan(merged(other, bad).lse) && std::isnan(merged(bad, other).lse)));
    }
  Owned bad(1, 1), identity(1, 1);
  bad.out = {1}, bad.max = {nan}, bad.sum = {1};
  CHECK(std::isnan(merged(identity, bad).out[0]));
  CHECK(std::isnan(merged(bad, identity).out[0]));
}
