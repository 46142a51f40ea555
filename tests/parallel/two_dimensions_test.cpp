// Ranks in two dimensions: groups and walks worked out by hand, and the closed forms of what a hybrid and a
// double ring cost.
#include "parallel/method_choices.hpp"
#include "ringcraft/parallel/double_ring/node_reach.hpp"
#include "ringcraft/parallel/double_ring/two_level_walk.hpp"
#include "ringcraft/parallel/hybrid/rank_grid.hpp"
#include "support/catch.hpp"

using namespace ringcraft;

namespace {

constexpr RoleBytes kOnGpu{2, 4};

Problem full(Shape shape, int ranks) { return make_problem(shape, full_mask(), Layout::kContiguous, ranks); }

void check_every_rank(const std::vector<Index>& got, Index want) {
  for (const Index each : got) CHECK(each == want);
}

}  // namespace

TEST_CASE("rows and columns of a grid by hand") {
  CHECK(grid_groups(8, 4, 6) == GridGroups{{4, 5, 6, 7}, {2, 6}});
  CHECK(grid_groups(6, 2, 3) == GridGroups{{2, 3}, {1, 3, 5}});
  CHECK(grid_groups(3, 1, 1) == GridGroups{{1}, {0, 1, 2}});
  CHECK(grid_groups(3, 3, 1) == GridGroups{{0, 1, 2}, {1}});
  CHECK(grid_groups(1, 1, 0) == GridGroups{{0}, {0}});
}

TEST_CASE("a walk over two nodes of three ranks by hand") {
  using Walk = std::vector<WalkStep>;
  CHECK(two_level_walk(6, 3, 4) == Walk{{4, 5, 3, 1, 1},
                                        {3, 5, 3, -1, -1},
                                        {5, -1, -1, -1, -1},  //
                                        {1, 5, 3, -1, -1},
                                        {0, 5, 3, -1, -1},
                                        {2, -1, -1, -1, -1}});
  CHECK(two_level_walk(3, 1, 0) == Walk{{0, -1, -1, 1, 2}, {2, -1, -1, 1, 2}, {1, -1, -1, -1, -1}});
  CHECK(two_level_walk(3, 3, 0) == Walk{{0, 1, 2, -1, -1}, {2, 1, 2, -1, -1}, {1, -1, -1, -1, -1}});
  CHECK(two_level_walk(1, 1, 0) == Walk{{0, -1, -1, -1, -1}});
}

TEST_CASE("a column is a ring over rows, with the heads of one rank") {
  const Problem column = column_problem(full({1, 8, 2, 24, 4}, 8), 4);
  CHECK(column.world_size == 2);
  CHECK(column.shape.heads == 2);
  CHECK(column.shape.kv_heads == 1);  // each of two KV heads is on two ranks of a row
  for (int row = 0; row < 2; ++row) CHECK(column.sharding().rows(row) == 12);
}

// A block is 2 rows of k and v with 4 numbers: 16 elements, 32 bytes, and its sum of gradients 64.
TEST_CASE("a double ring of two nodes of three ranks by hand") {
  const Problem problem = full({1, 1, 1, 12, 4}, 6);
  const Theory forward = kDoubleRing.theory(problem, {.node = 3}, Pass::kForward, kOnGpu);
  check_every_rank(forward.bytes_sent, (2 * 2 + 1) * 32);  // two a turn inside, one outside
  check_every_rank(forward.messages_sent, 10);
  check_every_rank(forward.peak_bytes, (8 + 16 + 3 * 16) * 2 + (8 + 2 + 2) * 4);
  const Theory backward = kDoubleRing.theory(problem, {.node = 3}, Pass::kBackward, kOnGpu);
  check_every_rank(backward.bytes_sent, 5 * 32 + (3 * 2 + 2) * 64);  // sums: three a turn, and two outside
  check_every_rank(backward.messages_sent, 10 + 16);
}

// Rows of two ranks: a parcel has 2 of 4 query heads and 1 of 2 KV heads, of 2 tokens with 4 numbers each.
TEST_CASE("a hybrid of two rows of two ranks by hand") {
  const Problem problem = full({1, 4, 2, 8, 4}, 4);
  const Theory forward = kHybrid.theory(problem, {.ulysses = 2}, Pass::kForward, kOnGpu);
  // q, k and v, out, lse; and a block of 4 tokens and 1 head around the ring of two.
  check_every_rank(forward.bytes_sent, 16 * 2 + 16 * 2 + 16 * 4 + 4 * 4 + 32 * 2);
  check_every_rank(forward.messages_sent, 1 + 2 + 1 + 1 + 2);
}

TEST_CASE("Ulysses with a KV head that both ranks get by hand") {
  const Problem problem = full({1, 4, 1, 4, 4}, 2);
  const Theory forward = kUlysses.theory(problem, {}, Pass::kForward, kOnGpu);
  check_every_rank(forward.bytes_sent, 16 * 2 + 16 * 2 + 16 * 4 + 4 * 4);
  const Theory backward = kUlysses.theory(problem, {}, Pass::kBackward, kOnGpu);
  check_every_rank(backward.bytes_sent, 16 * 2 + 16 * 4 + 16 * 4);  // dout, dq, dk and dv
  check_every_rank(backward.messages_sent, 1 + 1 + 2);
}

TEST_CASE("the reaches that ranks share are those of the problem they ask for") {
  const auto check = [](const Problem& problem, int node) {
    const auto shared = shared_node_reach(problem, node);
    const NodeReach own(problem, node);
    for (int source = 0; source < problem.world_size; ++source) {
      CHECK(shared->outer(source) == own.outer(source));
      for (int turn = 0; turn < problem.world_size / node; ++turn)
        CHECK(shared->inner(source, turn) == own.inner(source, turn));
    }
  };
  const Shape shape{1, 1, 1, 24, 4};
  for (const int node : {2, 3})
    for (const Layout layout : {Layout::kContiguous, Layout::kZigzag, Layout::kStriped})
      for (const Mask& mask : {full_mask(), causal_mask(), window_mask(2), full_mask()})
        check(make_problem(shape, mask, layout, 6), node);
}
