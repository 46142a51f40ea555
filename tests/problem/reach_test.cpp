// The reach of KV blocks: known numbers, brute force for random problems, and many ranks in little time.
#include "ringcraft/problem/reach.hpp"

#include <algorithm>
#include <vector>

#include "support/catch.hpp"
#include "support/random_problem.hpp"

using namespace ringcraft;
using namespace ringcraft::testing;

namespace {

Problem of(Mask mask, Position seqlen, int n, Layout layout = Layout::kContiguous) {
  return make_problem({.seqlen = seqlen, .head_dim = 1}, std::move(mask), layout, n);
}

}  // namespace

TEST_CASE("the reach of every block of known problems") {
  using Reach = std::vector<int>;
  CHECK(reaches(of(window_mask(8), 20, 5)) == Reach{2, 2, 2, 1, 0});
  CHECK(reaches(of(causal_mask(), 16, 4)) == Reach{3, 2, 1, 0});
  CHECK(reaches(of(full_mask(), 16, 4)) == Reach(4, 3));
  CHECK(reaches(of(causal_mask(), 16, 4, Layout::kZigzag)) == Reach(4, 3));
  CHECK(reaches(of(causal_mask(), 3, 5)) == Reach{2, 1, 0, 0, 0});  // two ranks own nothing
  CHECK(reaches(of({.cu_seqlens = {0, 8, 16}}, 16, 4)) == Reach{1, 3, 1, 3});
  CHECK(reaches(of(full_mask(), 5, 1)) == Reach{0});
}

TEST_CASE("the useful sends of a window: N C - C (C + 1) / 2 of N C") {
  for (int n = 1; n <= 8; ++n)
    for (const Position m : {1, 2, 3, 5})
      for (Position w = 0; w <= n * m; ++w) {
        const auto c = static_cast<int>(std::min<Position>((w + m - 1) / m, n - 1));
        int sends = 0;
        for (const int reach : reaches(of(window_mask(w), n * m, n))) sends += reach;
        CHECK(sends == n * c - c * (c + 1) / 2);
      }
}

TEST_CASE("the reach of a block is the last rank that sees it, for random problems") {
  Random random(171);
  int early = 0;
  for (int trial = 0; trial < 300; ++trial) {
    const Problem p = random_problem(random, 7, 30);
    INFO(described(p));
    const std::vector<int> reach = reaches(p);
    REQUIRE(reach.size() == static_cast<std::size_t>(p.world_size));
    for (int source = 0; source < p.world_size; ++source) {
      int last = 0;
      for (int t = 1; t < p.world_size; ++t)
        if (key_ranges(p, (source + t) % p.world_size, source).pairs() > 0) last = t;
      CHECK(reach[static_cast<std::size_t>(source)] == last);
      early += last < hops(p);
    }
    CHECK(*shared_reaches(p) == reach);
    CHECK(hops(p) == *std::ranges::max_element(reach));
  }
  CHECK(early > 100);
}
