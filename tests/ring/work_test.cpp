// The work of a ring: against formulas per layout, which know nothing of key ranges, against counting pair by
// pair, and known numbers.
#include "ringcraft/ring/work.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "support/catch.hpp"
#include "support/predicate.hpp"
#include "support/random_problem.hpp"

using namespace ringcraft;
using namespace ringcraft::testing;

namespace {

using Row = std::vector<Index>;

Problem causal(Layout layout, Position seqlen, int n) {
  return make_problem({.seqlen = seqlen, .head_dim = 1}, causal_mask(), layout, n);
}

// Causal pairs of rank i against block j for shards of c tokens, per layout.
Index causal_pairs(Layout layout, Index c, int i, int j) {
  const Index triangle = c * (c + 1) / 2, strict = c * (c - 1) / 2, h = c / 2;
  switch (layout) {
    case Layout::kContiguous:
      return j == i ? triangle : j < i ? c * c : 0;
    case Layout::kStriped:
      return i >= j ? triangle : strict;
    case Layout::kZigzagToken:
      return strict + (i >= j ? (c + 1) / 2 : 0) + (i <= j ? c / 2 : 0);
    case Layout::kZigzag:
      return i == j ? 2 * h * h + h : 2 * h * h;
  }
  return -1;
}

// Pairs of a rank over the whole causal ring, and the cost of waiting after every step.
Index causal_pairs_of_rank(Layout layout, Index c, int n, int i) {
  switch (layout) {
    case Layout::kContiguous:
      return c * (c + 1) / 2 + i * c * c;
    case Layout::kStriped:
      return (i + 1) * c * (c + 1) / 2 + (n - 1 - i) * c * (c - 1) / 2;
    default:
      return c % 2 == 0 ? n * c * (n * c + 1) / (2 * n) : -1;
  }
}

Index causal_cost(Layout layout, Index c, int n) {
  switch (layout) {
    case Layout::kContiguous:
      return c * (c + 1) / 2 + (n - 1) * c * c;
    case Layout::kStriped:
      return n * c * (c + 1) / 2;
    default:
      return c % 2 == 0 ? c * (c + 1) / 2 + (n - 1) * c * c / 2 : -1;
  }
}

// Pairs of a rank at step t >= 1 of the contiguous layout under a causal window within packed sequences:
// local query a and key b of shards of M tokens meet iff a < L1, b >= M - clip(P1 - (t-1) M, 0, M) and tM + a
// - b <= W.
Index packed_pairs(const std::vector<Position>& cu, Position w, Index m, int rank, int t) {
  const Position start = rank * m;
  const auto next = std::upper_bound(cu.begin(), cu.end(), start);
  const Position p1 = start - *(next - 1), l1 = std::min(*next, start + m) - start;
  Index pairs = 0;
  for (Index a = 0; a < l1; ++a)
    for (Index b = m - std::clamp<Index>(p1 - (t - 1) * m, 0, m); b < m; ++b) pairs += t * m + a - b <= w;
  return pairs;
}

}  // namespace

TEST_CASE("causal pairs per layout follow their formulas") {
  for (const Layout layout : kLayouts)
    for (int n = 1; n <= 8; ++n)
      for (const Index c : {1, 2, 3, 4, 6, 7}) {
        if (layout == Layout::kZigzag && c % 2 == 1) continue;  // 2N must divide seqlen
        CAPTURE(name_of(layout), n, c);
        const Problem problem = causal(layout, n * c, n);
        const auto [steps, skipped, ranks, cost, imbalance] = ring_work(problem);
        for (int i = 0; i < n; ++i) {
          for (int t = 0; t < static_cast<int>(steps.size()); ++t)
            CHECK(steps[static_cast<std::size_t>(t)][static_cast<std::size_t>(i)] ==
                  causal_pairs(layout, c, i, (i - t + n) % n));
          if (const Index expected = causal_pairs_of_rank(layout, c, n, i); expected >= 0)
            CHECK(ranks[static_cast<std::size_t>(i)] == expected);
        }
        if (const Index expected = causal_cost(layout, c, n); expected >= 0) CHECK(cost == expected);
        const bool last_step_is_empty = layout == Layout::kZigzagToken && c == 1 && n == 1;
        CHECK((static_cast<int>(steps.size()) == n || last_step_is_empty));
      }
}

TEST_CASE("packed windows follow their formula") {
  Random random(121);
  for (int trial = 0; trial < 200; ++trial) {
    const int n = static_cast<int>(random.integer(1, 6));
    const Index m = random.integer(1, 7);
    const Position w = random.integer(0, n * m);
    const auto cu = random_borders(random, n * m);
    const Problem p = make_problem({.seqlen = n * m, .head_dim = 1},
                                   {.left = w, .right = 0, .cu_seqlens = cu}, Layout::kContiguous, n);
    const auto steps = ring_work(p).pairs;
    CAPTURE(n, m, w, cu);
    for (int t = 1; t < n; ++t)
      for (int rank = 0; rank < n; ++rank) {
        const Index expected = rank < t ? 0 : packed_pairs(cu, w, m, rank, t);
        const auto s = static_cast<std::size_t>(t);
        CHECK((s < steps.size() ? steps[s][static_cast<std::size_t>(rank)] : 0) == expected);
      }
    CHECK(static_cast<Index>(steps.size()) - 1 <= std::min<Index>((w + m - 1) / m, n - 1));
  }
}

TEST_CASE("the work equals a count pair by pair, ragged and empty shards included") {
  Random random(122);
  for (int trial = 0; trial < 300; ++trial) {
    const Problem problem = random_problem(random, 8, 30);
    INFO(described(problem));
    auto counted = counted_pairs(problem.mask, problem.sharding());
    counted.resize(static_cast<std::size_t>(counted_hops(counted)) + 1);
    const RingWork work = ring_work(problem);
    CHECK(work.pairs == counted);

    Row ranks(static_cast<std::size_t>(problem.world_size));
    int skipped = 0;
    Index cost = 0, total = 0;
    for (const Row& step : counted) {
      Index slowest = 0;
      for (std::size_t rank = 0; rank < step.size(); ++rank) {
        ranks[rank] += step[rank];
        skipped += step[rank] == 0;
        slowest = std::max(slowest, step[rank]);
        total += step[rank];
      }
      cost += slowest;
    }
    CHECK(work.by_rank == ranks);
    CHECK(work.skipped == skipped);
    CHECK(work.synchronous_cost == cost);
    const auto busiest = static_cast<double>(*std::max_element(ranks.begin(), ranks.end()));
    const double idle = 1 - static_cast<double>(total) / (busiest * problem.world_size);
    CHECK(std::fabs(work.imbalance - idle) <= 1e-15);
  }
}

TEST_CASE("imbalance and efficiency of the causal ring, 16 tokens on 4 ranks") {
  const auto of = [](Layout layout) { return ring_work(causal(layout, 16, 4)); };
  CHECK(std::fabs(of(Layout::kContiguous).imbalance - 0.4138) <= 5e-5);
  CHECK(std::fabs(of(Layout::kStriped).imbalance - 0.15) <= 1e-15);
  CHECK(of(Layout::kZigzag).imbalance == 0);
  CHECK(of(Layout::kZigzagToken).imbalance == 0);
  const auto efficiency =
      [&](Layout layout) {  // mean work against the time of a ring that waits after every step
        return 34.0 / static_cast<double>(of(layout).synchronous_cost);
      };
  CHECK(std::fabs(efficiency(Layout::kContiguous) - 0.5862) <= 5e-5);
  CHECK(std::fabs(efficiency(Layout::kStriped) - 0.85) <= 1e-15);
  CHECK(efficiency(Layout::kZigzag) == 1);
}

TEST_CASE("the imbalance of whole rounds is 0, of odd ones 2.8 and 1.5 percent") {
  const auto token = [](Position seqlen) {
    return ring_work(causal(Layout::kZigzagToken, seqlen, 4)).imbalance;
  };
  CHECK(token(24) == 0);
  CHECK(std::fabs(token(20) - 0.0278) <= 5e-5);
  CHECK(std::fabs(token(28) - 0.0146) <= 5e-5);
}

TEST_CASE("blocks that a causal ring of contiguous shards skips") {
  for (int n = 1; n <= 8; ++n)
    CHECK(ring_work(causal(Layout::kContiguous, 3 * n, n)).skipped == n * (n - 1) / 2);
  for (const Layout layout : {Layout::kStriped, Layout::kZigzag, Layout::kZigzagToken})
    CHECK(ring_work(causal(layout, 16, 4)).skipped == 0);
  CHECK(ring_work(causal(Layout::kStriped, 4, 4)).skipped ==
        6);  // one token for each rank: all layouts are one
}

TEST_CASE("counts beyond 32 bits") {
  const Index c = 100000;
  const RingWork work = ring_work(causal(Layout::kContiguous, 2 * c, 2));
  CHECK(work.by_rank == Row{c * (c + 1) / 2, c * (c + 1) / 2 + c * c});
  CHECK(work.synchronous_cost == c * (c + 1) / 2 + c * c);
}

// With m = shard / tile: contiguous m (m + 1) / 2 + (N - 1) m^2, token layouts N m (m + 1) / 2, chunk zig-zag
// m (m + 1) / 2 + (N - 1) m^2 / 2 for even m.
TEST_CASE("the cost in tiles follows its formulas") {
  for (int n = 1; n <= 6; ++n)
    for (const Index m : {2, 4, 6})
      for (const int tile : {2, 3, 8}) {
        CAPTURE(n, m, tile);
        const auto cost = [&](Layout layout) {
          return synchronous_tiles(causal(layout, n * m * tile, n), tile);
        };
        const Index triangle = m * (m + 1) / 2;
        CHECK(cost(Layout::kContiguous) == triangle + (n - 1) * m * m);
        CHECK(cost(Layout::kStriped) == n * triangle);
        CHECK(cost(Layout::kZigzagToken) == n * triangle);
        CHECK(cost(Layout::kZigzag) == triangle + (n - 1) * m * m / 2);
      }
}

TEST_CASE("tiles of one pair cost what pairs cost, one tile for all costs a tile for every busy step") {
  Random random(125);
  for (int trial = 0; trial < 100; ++trial) {
    const Problem problem = random_problem(random, 7, 30);
    INFO(described(problem));
    const RingWork work = ring_work(problem);
    Index busy = 0;
    for (const Row& step : work.pairs) busy += *std::max_element(step.begin(), step.end()) > 0;
    if (problem.mask == causal_mask() || problem.mask == full_mask()) {  // no empty tile is called partial
      CHECK(synchronous_tiles(problem, 1) == work.synchronous_cost);
      CHECK(synchronous_tiles(problem, 1000) == busy);
    }
    CHECK(synchronous_tiles(problem, 1) >= work.synchronous_cost);
    CHECK(synchronous_tiles(problem, 1000) >= busy);
  }
}

TEST_CASE("synchronous cost: contiguous, striped, token zig-zag") {
  struct Golden {
    Position seqlen;
    int n;
    Row cost;
  };
  for (const Golden& g : std::vector<Golden>{{8, 4, {15, 12, 9}},
                                             {12, 4, {33, 24, 21}},
                                             {16, 2, {100, 72, 68}},
                                             {16, 4, {58, 40, 34}},
                                             {18, 3, {93, 63, 57}},
                                             {20, 4, {90, 60, 54}},
                                             {24, 3, {164, 108, 100}},
                                             {24, 4, {129, 84, 75}},
                                             {32, 8, {122, 80, 66}}}) {
    CAPTURE(g.seqlen, g.n);
    Row cost;
    for (const Layout layout : {Layout::kContiguous, Layout::kStriped, Layout::kZigzagToken})
      cost.push_back(ring_work(causal(layout, g.seqlen, g.n)).synchronous_cost);
    CHECK(cost == g.cost);
  }
  const Problem window = make_problem({.seqlen = 20, .head_dim = 1}, window_mask(6), Layout::kContiguous, 5);
  CHECK(ring_work(window).synchronous_cost == 28);
}

TEST_CASE("a zig-zag inside every sequence gives every rank the same work at every step") {
  const std::vector<Position> borders{0, 8, 40, 56, 104};  // 2N divides every length
  Problem problem =
      make_problem({.seqlen = 104, .head_dim = 1}, {.right = 0, .cu_seqlens = borders}, Layout::kZigzag, 4);
  const Index as_one = ring_work(problem).synchronous_cost;
  problem.per_sequence = true;
  const RingWork work = ring_work(problem);
  CHECK(work.imbalance == 0);
  for (const Row& step : work.pairs) CHECK(std::ranges::count(step, step[0]) == 4);
  Index pairs = 0;
  for (std::size_t i = 1; i < borders.size(); ++i) {
    const Index tokens = borders[i] - borders[i - 1];
    pairs += tokens * (tokens + 1) / 2;
  }
  CHECK(work.synchronous_cost == pairs / 4);
  CHECK(as_one > work.synchronous_cost);
}
