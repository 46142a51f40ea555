// make_problem: its defaults, and one table of everything that it refuses.
#include "ringcraft/problem/problem.hpp"

#include <cmath>
#include <limits>
#include <vector>

#include "support/catch.hpp"
#include "support/errors.hpp"

using namespace ringcraft;
using namespace ringcraft::testing;

namespace {

const Shape kShape{.batch = 2, .heads = 6, .kv_heads = 3, .seqlen = 10, .head_dim = 4};

}  // namespace

TEST_CASE("a problem and the extents of its shards") {
  const Problem problem = make_problem(kShape, window_mask(3), Layout::kZigzag, 4);
  CHECK(problem.softmax_scale == 0.5);
  CHECK(make_problem(kShape, {}, Layout::kStriped, 4, -0.25).softmax_scale == -0.25);
  CHECK(problem.shape.group() == 2);
  CHECK(problem.mask == window_mask(3));
  Index rows = 0;
  for (int rank = 0; rank < 4; ++rank) {
    const Index mine = problem.sharding().rows(rank);
    CHECK(problem.q_extents(rank) == Extents{2, 6, mine, 4});
    CHECK(problem.kv_extents(rank) == Extents{2, 3, mine, 4});
    CHECK(problem.row_extents(rank) == Extents{2, 6, mine, 1});
    rows += mine;
  }
  CHECK(rows == 10);
  validate(problem);
}

TEST_CASE("a rank that is not there has no rows, positions or keys") {
  const Problem problem = make_problem({1, 2, 1, 10, 4}, causal_mask(), Layout::kZigzag, 4);
  for (const int rank : {-1, 4}) {
    const std::string words = "rank: expected 0 to 3 of 4 ranks, got " + std::to_string(rank);
    testing::check_refused([&] { problem.sharding().positions(rank); }, words);
    testing::check_refused([&] { key_ranges(problem, 0, rank); }, words);
  }
}

TEST_CASE("a problem deals packed sequences as one, or each by itself") {
  Problem problem = make_problem(kShape, {.cu_seqlens = {0, 4, 10}}, Layout::kContiguous, 2);
  CHECK(problem.sharding().positions(0) == std::vector<Position>{0, 1, 2, 3, 4});
  problem.per_sequence = true;
  validate(problem);
  CHECK(problem.sharding().positions(0) == std::vector<Position>{0, 1, 4, 5, 6});
  problem.mask.cu_seqlens.clear();
  testing::check_refused([&] { validate(problem); }, "per_sequence: expected cu_seqlens with the borders");
}

TEST_CASE("everything that make_problem refuses") {
  struct Row {
    const char* fragment;
    Shape shape = kShape;
    Mask mask = {};
    int world_size = 2;
    std::optional<double> scale = {};
  };
  const auto shape = [](auto change) {
    Shape s = kShape;
    change(s);
    return s;
  };
  const Index huge = Index{1} << 40;
  const std::vector<Row> table{
      {"batch: expected at least 1, got 0", shape([](Shape& s) { s.batch = 0; })},
      {"heads: expected at least 1, got 0", shape([](Shape& s) { s.heads = 0; })},
      {"kv_heads: expected at least 1, got 0", shape([](Shape& s) { s.kv_heads = 0; })},
      {"seqlen: expected at least 1, got 0", shape([](Shape& s) { s.seqlen = 0; })},
      {"seqlen: expected at least 1, got -7", shape([](Shape& s) { s.seqlen = -7; })},
      {"head_dim: expected at least 1, got 0", shape([](Shape& s) { s.head_dim = 0; })},
      {"head_dim: expected at least 1, got -4", shape([](Shape& s) { s.head_dim = -4; })},
      {"heads: expected a multiple of kv_heads (4), got 6", shape([](Shape& s) { s.kv_heads = 4; })},
      {"heads: expected a multiple of kv_heads (12), got 6", shape([](Shape& s) { s.kv_heads = 12; })},
      {"seqlen: expected at most 2147483647, got 2147483648", shape([](Shape& s) { s.seqlen = 2147483648; })},
      {"shape: expected a tensor that fits the address space",
       shape([&](Shape& s) { s.batch = s.head_dim = huge; })},
      {"shape: expected", shape([&](Shape& s) { s.batch = std::numeric_limits<Index>::max(); })},
      {"window: expected a left limit of at least 0, got -1", kShape, {.left = -1, .right = 0}},
      {"mask: expected a right limit of at least 0, got -2", kShape, {.right = -2}},
      {"cu_seqlens: expected borders from 0 to seqlen (10), got borders from 0 to 9",
       kShape,
       {.cu_seqlens = {0, 9}}},
      {"cu_seqlens: expected borders from 0 to seqlen (10), got borders from 1 to 10",
       kShape,
       {.cu_seqlens = {1, 10}}},
      {"cu_seqlens: expected borders from 0 to seqlen (10)", kShape, {.cu_seqlens = {10}}},
      {"cu_seqlens: expected borders that rise, got 4 before 4", kShape, {.cu_seqlens = {0, 4, 4, 10}}},
      {"cu_seqlens: expected borders that rise, got 12 before 3", kShape, {.cu_seqlens = {0, 12, 3, 10}}},
      {"ranks: expected at least 1, got 0", kShape, {}, 0},
      {"ranks: expected at least 1, got -3", kShape, {}, -3},
      {"softmax_scale: expected a finite number, got nan", kShape, {}, 2, std::nan("")},
      {"softmax_scale: expected a finite number, got inf",
       kShape,
       {},
       2,
       std::numeric_limits<double>::infinity()},
  };
  for (const Row& row : table)
    check_refused(
        [&] {
          return make_problem(row.shape, row.mask, Layout::kZigzag, row.world_size, row.scale).world_size;
        },
        row.fragment);
}

TEST_CASE("a problem put together by hand is checked by validate") {
  Problem problem = make_problem(kShape, {}, Layout::kContiguous, 2);
  problem.mask.cu_seqlens = {0, 20};
  check_refused([&] { validate(problem); }, "cu_seqlens");
  problem.mask = {};
  problem.world_size = 0;
  check_refused([&] { validate(problem); }, "ranks");
}
