// Properties of the merge: a state does not depend on the order of its blocks nor on how they are bracketed,
// for whatever scores, rows without keys included.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "properties/property.hpp"
#include "ringcraft/attention/merge.hpp"

namespace ringcraft::testing {
namespace {

constexpr double kNone = -std::numeric_limits<double>::infinity();
constexpr Index kWidth = 3;

// The partial result of one row, with the memory of its view.
struct Row {
  std::vector<double> out = std::vector<double>(kWidth, 0.0);
  double max = kNone, sum = 0;

  Partial<double> view() { return {{out, 1, kWidth}, {&max, 1}, {&sum, 1}}; }
};

Row merged(Row a, Row b) {
  merge<double>(a.view(), b.view());
  return a;
}

// One key by itself: O = v, m = score, l = 1; a masked one is the identity.
Row of_key(double score, Random& random) {
  Row row;
  if (score == kNone) return row;
  row.max = score;
  row.sum = 1;
  for (double& x : row.out) x = random.normal();
  return row;
}

// Scores from ordinary to far beyond what exp can take, some masked.
std::vector<Row> random_rows(Random& random, std::size_t count) {
  std::vector<Row> rows;
  const double spread = std::array{1.0, 30.0, 500.0, 2e4}[static_cast<std::size_t>(random.integer(0, 3))];
  for (std::size_t i = 0; i < count; ++i)
    rows.push_back(of_key(random.integer(0, 4) == 0 ? kNone : spread * random.normal(), random));
  return rows;
}

Row folded(const std::vector<Row>& rows) {
  return std::accumulate(rows.begin(), rows.end(), Row(),
                         [](Row a, const Row& b) { return merged(std::move(a), b); });
}

// Merges neighbours in a random order until one is left: any bracketing.
Row bracketed(std::vector<Row> rows, Random& random) {
  rows.push_back(Row());
  while (rows.size() > 1) {
    const auto i = random.integer(0, static_cast<Index>(rows.size()) - 2);
    const auto at = rows.begin() + i;
    *at = merged(*at, *(at + 1));
    rows.erase(at + 1);
  }
  return rows[0];
}

// Two states of one row are the same up to rounding: the maximum exactly, sums to a few units in the last
// place of their terms. Both sums lie between 1 and the number of keys.
void require_same(const Row& a, const Row& b, std::size_t keys) {
  RC_ASSERT(a.max == b.max);
  if (a.max == kNone) {
    RC_ASSERT(a.sum == 0);
    RC_ASSERT(b.sum == 0);
    RC_ASSERT(a.out == std::vector<double>(kWidth, 0.0));
    RC_ASSERT(b.out == a.out);
    return;
  }
  RC_ASSERT(a.sum >= 1);
  RC_ASSERT(a.sum <= static_cast<double>(keys) * (1 + 1e-14));
  const double tolerance = 4e-16 * static_cast<double>(keys + 2) * static_cast<double>(keys + 2);
  RC_ASSERT(std::fabs(a.sum - b.sum) <= tolerance * b.sum);
  for (Index c = 0; c < kWidth; ++c) {
    const auto i = static_cast<std::size_t>(c);
    RC_ASSERT(std::fabs(a.out[i] - b.out[i]) <= tolerance * 6 * b.sum);  // |v| stays below 6
  }
}

}  // namespace

TEST_CASE("property: the order of blocks does not matter") {
  check_property(400, [](std::uint64_t seed) {
    Random random(seed);
    const auto keys = static_cast<std::size_t>(*rc::gen::inRange(0, 20));
    std::vector<Row> rows = random_rows(random, keys);
    const Row one = folded(rows);
    for (std::size_t i = rows.size(); i > 1; --i)
      std::swap(rows[i - 1], rows[static_cast<std::size_t>(random.integer(0, static_cast<Index>(i) - 1))]);
    require_same(folded(rows), one, keys);
  });
}

TEST_CASE("property: the bracketing of merges does not matter") {
  check_property(400, [](std::uint64_t seed) {
    Random random(seed);
    const auto keys = static_cast<std::size_t>(*rc::gen::inRange(0, 20));
    const std::vector<Row> rows = random_rows(random, keys);
    require_same(bracketed(rows, random), folded(rows), keys);
  });
}

TEST_CASE("property: merging with the identity changes no bit, from either side") {
  check_property(200, [](std::uint64_t seed) {
    Random random(seed);
    const Row row = folded(random_rows(random, static_cast<std::size_t>(*rc::gen::inRange(1, 9))));
    for (const Row& same : {merged(row, Row()), merged(Row(), row)}) {
      RC_ASSERT(same.max == row.max);
      RC_ASSERT(same.sum == row.sum);
      RC_ASSERT(same.out == row.out);
    }
  });
}

}  // namespace ringcraft::testing
