// Known numbers: causal pairs of all layouts, step tables, tiles, windows and packed sequences through the
// ring.
#include <algorithm>
#include <cmath>
#include <vector>

#include "ringcraft/problem/reach.hpp"
#include "support/catch.hpp"
#include "support/predicate.hpp"
#include "support/random_problem.hpp"

using namespace ringcraft;
using namespace ringcraft::testing;

namespace {

using Row = std::vector<Index>;
using Table = std::vector<Row>;

Problem problem_of(Mask mask, Layout layout, Position seqlen, int n) {
  return make_problem({.seqlen = seqlen, .head_dim = 1}, std::move(mask), layout, n);
}

// Visible pairs [step][rank] up to the last step with work.
Table steps(const Problem& problem) {
  const int n = problem.world_size;
  Table table;
  for (int t = 0; t <= hops(problem); ++t) {
    table.emplace_back();
    for (int rank = 0; rank < n; ++rank)
      table.back().push_back(key_ranges(problem, rank, (rank - t + n) % n).pairs());
  }
  return table;
}

Row per_rank(const Problem& problem) {
  Row sum(static_cast<std::size_t>(problem.world_size), 0);
  for (const Row& step : steps(problem))
    for (std::size_t rank = 0; rank < sum.size(); ++rank) sum[rank] += step[rank];
  return sum;
}

Table by_rank(const Table& steps) {
  Table table(steps.front().size());
  for (const Row& step : steps)
    for (std::size_t rank = 0; rank < step.size(); ++rank) table[rank].push_back(step[rank]);
  return table;
}

Index total(const Row& row) {
  Index sum = 0;
  for (const Index x : row) sum += x;
  return sum;
}

Row four_times(Index x) { return {x, x, x, x}; }

}  // namespace

TEST_CASE("causal pairs per rank") {
  struct Golden {
    Position seqlen;
    int n;
    Row contiguous, striped, zigzag_token;
    bool both_zigzags;  // the chunk zig-zag has the same numbers
    Index total;
  };
  const std::vector<Golden> table{
      {8, 4, {3, 7, 11, 15}, {6, 8, 10, 12}, four_times(9), true, 36},
      {12, 4, {6, 15, 24, 33}, {15, 18, 21, 24}, {18, 19, 20, 21}, false, 78},
      {16, 2, {36, 100}, {64, 72}, {68, 68}, true, 136},
      {16, 4, {10, 26, 42, 58}, {28, 32, 36, 40}, four_times(34), true, 136},
      {18, 3, {21, 57, 93}, {51, 57, 63}, {57, 57, 57}, true, 171},
      {20, 4, {15, 40, 65, 90}, {45, 50, 55, 60}, {51, 52, 53, 54}, false, 210},
      {24, 3, {36, 100, 164}, {92, 100, 108}, {100, 100, 100}, true, 300},
      {24, 4, {21, 57, 93, 129}, {66, 72, 78, 84}, four_times(75), true, 300},
      {32, 8, {10, 26, 42, 58, 74, 90, 106, 122}, {52, 56, 60, 64, 68, 72, 76, 80}, Row(8, 66), true, 528},
  };
  for (const Golden& g : table) {
    CAPTURE(g.seqlen, g.n);
    const auto pairs = [&](Layout layout) {
      return per_rank(problem_of(causal_mask(), layout, g.seqlen, g.n));
    };
    CHECK(pairs(Layout::kContiguous) == g.contiguous);
    CHECK(pairs(Layout::kStriped) == g.striped);
    CHECK(pairs(Layout::kZigzagToken) == g.zigzag_token);
    if (g.both_zigzags) CHECK(pairs(Layout::kZigzag) == g.zigzag_token);
    for (const Layout layout : kLayouts) CHECK(total(pairs(layout)) == g.total);
  }
}

TEST_CASE("causal pairs by step and rank") {
  const auto table = [](Layout layout, Position seqlen) {
    return steps(problem_of(causal_mask(), layout, seqlen, 4));
  };
  CHECK(table(Layout::kContiguous, 16) ==
        Table{four_times(10), {0, 16, 16, 16}, {0, 0, 16, 16}, {0, 0, 0, 16}});
  CHECK(table(Layout::kStriped, 16) == Table{four_times(10), {6, 10, 10, 10}, {6, 6, 10, 10}, {6, 6, 6, 10}});
  for (const Layout layout : {Layout::kZigzag, Layout::kZigzagToken})
    CHECK(table(layout, 16) == Table{four_times(10), four_times(8), four_times(8), four_times(8)});
  CHECK(table(Layout::kZigzagToken, 12) == Table{four_times(6), {4, 5, 5, 5}, {4, 4, 5, 5}, {4, 4, 4, 5}});
}

TEST_CASE("zig-zag gives every rank the same work at every step when 2N divides the length") {
  for (int n = 1; n <= 8; ++n)
    for (const Position half : {1, 2, 3, 5}) {
      const Position seqlen = 2 * n * half, c = 2 * half;
      for (const Layout layout : {Layout::kZigzag, Layout::kZigzagToken}) {
        CAPTURE(n, half, name_of(layout));
        const Table table = steps(problem_of(causal_mask(), layout, seqlen, n));
        REQUIRE(table.size() == static_cast<std::size_t>(n));
        for (std::size_t t = 0; t < table.size(); ++t)
          CHECK(table[t] == Row(static_cast<std::size_t>(n), t == 0 ? c * (c + 1) / 2 : c * c / 2));
      }
    }
}

TEST_CASE("odd shards of the token zig-zag differ by their rank") {
  for (int n = 2; n <= 8; ++n)
    for (const Position c : {1, 3, 5}) {
      CAPTURE(n, c);
      const Problem problem = problem_of(causal_mask(), Layout::kZigzagToken, n * c, n);
      const Row pairs = per_rank(problem);
      for (std::size_t rank = 0; rank < pairs.size(); ++rank)
        CHECK(pairs[rank] == pairs[0] + static_cast<Index>(rank));
      for (const Row& step : steps(problem))
        CHECK(*std::ranges::max_element(step) - *std::ranges::min_element(step) <= 1);
    }
}

TEST_CASE("last rank against first rank, contiguous") {
  const auto ratio = [](int n, Position c) {
    const Row pairs = per_rank(problem_of(causal_mask(), Layout::kContiguous, n * c, n));
    return static_cast<double>(pairs.back()) / static_cast<double>(pairs.front());
  };
  CHECK(ratio(4, 4) == 5.8);
  CHECK(ratio(8, 4) == 12.2);
  CHECK(std::fabs(ratio(8, 1024) - 14.9863) <= 1e-4);
}

TEST_CASE("tiles with a visible pair, 4 x 4") {
  const auto tiles = [](Layout layout) {
    const Problem problem = problem_of(causal_mask(), layout, 64, 4);
    Row counts;
    for (int rank = 0; rank < 4; ++rank) {
      counts.push_back(0);
      for (int source = 0; source < 4; ++source)
        counts.back() += key_ranges(problem, rank, source).by_row().tiles(16, 4, 4);
    }
    return counts;
  };
  CHECK(tiles(Layout::kContiguous) == Row{10, 26, 42, 58});
  CHECK(tiles(Layout::kStriped) == four_times(40));
  CHECK(tiles(Layout::kZigzagToken) == four_times(40));
  CHECK(tiles(Layout::kZigzag) == four_times(34));
}

// With m = shard / tile: contiguous m (m + 1) / 2 + i m^2, striped and token zig-zag N m (m + 1) / 2, chunk
// zig-zag m (m + 1) / 2 + (N - 1) m^2 / 2 for even m.
TEST_CASE("causal tiles per layout follow their formulas") {
  for (int n = 1; n <= 6; ++n)
    for (const Index m : {2, 4, 6})
      for (const int tile : {2, 3, 8}) {
        CAPTURE(n, m, tile);
        const int rows = static_cast<int>(m) * tile;
        const Index triangle = m * (m + 1) / 2;
        for (const Layout layout : kLayouts)
          for (int rank = 0; rank < n; ++rank) {
            const Problem problem = problem_of(causal_mask(), layout, rows * n, n);
            Index tiles = 0;
            for (int source = 0; source < n; ++source)
              tiles += key_ranges(problem, rank, source).by_row().tiles(rows, tile, tile);
            CAPTURE(name_of(layout), rank);
            CHECK(tiles == (layout == Layout::kContiguous ? triangle + rank * m * m
                            : layout == Layout::kZigzag   ? triangle + (n - 1) * m * m / 2
                                                          : n * triangle));
          }
      }
}

// The work where only whole blocks are skipped: shards, or the chunks of the chunk zig-zag.
TEST_CASE("entries computed block by block: token layouts skip nothing") {
  const auto entries = [](Layout layout, int tile) {
    const Problem problem = problem_of(causal_mask(), layout, 16, 4);
    Index sum = 0;
    for (int rank = 0; rank < 4; ++rank)
      for (int source = 0; source < 4; ++source)
        sum += key_ranges(problem, rank, source).by_row().tiles(4, tile, tile) * tile * tile;
    return sum;
  };
  CHECK(entries(Layout::kContiguous, 4) == 160);
  CHECK(entries(Layout::kStriped, 4) == 256);
  CHECK(entries(Layout::kZigzagToken, 4) == 256);
  CHECK(entries(Layout::kZigzag, 2) == 144);
  for (const Layout layout : kLayouts) CHECK(entries(layout, 1) == 136);
}

TEST_CASE("windows through the ring") {
  const auto window = [](Position w, Position seqlen, int n) {
    return steps(problem_of(window_mask(w), Layout::kContiguous, seqlen, n));
  };
  const Row ten(5, 10);
  CHECK(window(4, 20, 5) == Table{ten, {0, 10, 10, 10, 10}});
  CHECK(window(5, 20, 5) == Table{ten, {0, 13, 13, 13, 13}, {0, 0, 1, 1, 1}});
  CHECK(window(6, 20, 5) == Table{ten, {0, 15, 15, 15, 15}, {0, 0, 3, 3, 3}});
  CHECK(per_rank(problem_of(window_mask(6), Layout::kContiguous, 20, 5)) == Row{10, 25, 28, 28, 28});
  CHECK(window(100, 16, 4) == steps(problem_of(causal_mask(), Layout::kContiguous, 16, 4)));
  CHECK(by_rank(window(5, 16, 4)) == Table{{10, 0, 0}, {10, 13, 0}, {10, 13, 1}, {10, 13, 1}});
}

TEST_CASE("a window needs as many hops as it is blocks wide") {
  const auto window_hops = [](Position w) {
    return hops(problem_of(window_mask(w), Layout::kContiguous, 64, 16));
  };
  CHECK(window_hops(0) == 0);
  CHECK(window_hops(1) == 1);
  CHECK(window_hops(4) == 1);
  CHECK(window_hops(5) == 2);
  CHECK(window_hops(8) == 2);
  CHECK(window_hops(9) == 3);
  for (int n = 1; n <= 8; ++n)
    for (const Position m : {1, 2, 3, 4, 7})
      for (Position w = 0; w <= n * m + 1; ++w) {
        const Problem problem = problem_of(window_mask(w), Layout::kContiguous, n * m, n);
        const int expected = static_cast<int>(std::min<Position>((w + m - 1) / m, n - 1));
        const Position s = n * m, cut = std::min(w, s - 1);
        if (hops(problem) != expected || total(per_rank(problem)) != s * (cut + 1) - cut * (cut + 1) / 2)
          FAIL("n " << n << ", rows " << m << ", window " << w << ": " << hops(problem) << " hops");
      }
}

TEST_CASE("zig-zag destroys the locality of a window") {
  const auto shared = [](Layout layout) {  // {shard pairs with a visible pair, hops}
    const Problem problem = problem_of(window_mask(8), layout, 128, 8);
    Index pairs = 0;
    for (int i = 0; i < 8; ++i)
      for (int j = 0; j < 8; ++j) pairs += key_ranges(problem, i, j).pairs() > 0;
    return Row{pairs, hops(problem)};
  };
  CHECK(shared(Layout::kContiguous) == Row{15, 1});
  CHECK(shared(Layout::kZigzag) == Row{22, 7});
  CHECK(shared(Layout::kStriped) == Row{64, 7});
  CHECK(shared(Layout::kZigzagToken) == Row{64, 7});
}

TEST_CASE("packed sequences through the ring, by rank and step") {
  const auto packed = [](std::vector<Position> cu, Position w, int n) {
    const Position seqlen = cu.back();
    return by_rank(steps(
        problem_of({.left = w, .right = 0, .cu_seqlens = std::move(cu)}, Layout::kContiguous, seqlen, n)));
  };
  CHECK(packed({0, 3, 12, 14, 16}, 4, 4) == Table{{7, 0}, {10, 4}, {10, 10}, {6, 0}});
  CHECK(packed({0, 1, 11, 12}, 8, 3) == Table{{7, 0, 0}, {10, 12, 0}, {7, 12, 8}});
  CHECK(packed({0, 2, 12}, 8, 3) == Table{{6, 0, 0}, {10, 8, 0}, {10, 16, 7}});
  CHECK(packed({0, 6, 8}, 8, 2) == Table{{10, 0}, {6, 8}});
  CHECK(packed({0, 3, 6, 8}, 8, 2) == Table{{7, 0}, {6, 2}});
}

TEST_CASE("hops by brute force for random problems") {
  Random random(51);
  int shorter = 0;
  for (int i = 0; i < 400; ++i) {
    const Problem problem = random_problem(random, 8, 40);
    INFO(described(problem));
    const int expected = counted_hops(counted_pairs(problem.mask, problem.sharding()));
    CHECK(hops(problem) == expected);
    shorter += expected < problem.world_size - 1;
  }
  CHECK(shorter > 40);  // the problems are not all of the kind that needs every hop
}
