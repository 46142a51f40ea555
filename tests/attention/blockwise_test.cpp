// Dense against the definition, blockwise against dense: tile sizes, carrying across blocks, rows without a
// key.
#include "ringcraft/attention/blockwise.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "support/catch.hpp"
#include "support/compare.hpp"
#include "support/none.hpp"
#include "support/one_head.hpp"

using namespace ringcraft;
using testing::kNone;
using namespace ringcraft::testing;

namespace {

template <class T>
constexpr double kTolerance = std::is_same_v<T, double> ? 1e-13 : 1e-4;

template <class T>
void check_close(const Result<T>& a, const Result<T>& b, double tolerance) {
  CHECK(difference<T>(a.out, b.out) <= tolerance);
  CHECK(difference<T>(a.lse, b.lse) <= tolerance);
  CHECK(difference<T>(a.dq, b.dq) <= tolerance);
  CHECK(difference<T>(a.dk, b.dk) <= tolerance);
  CHECK(difference<T>(a.dv, b.dv) <= tolerance);
}

const std::vector<TileSize> kTiles{{1, 1}, {2, 3}, {3, 2}, {1, 64}, {64, 1}, {5, 7}, {256, 256}};

}  // namespace

TEMPLATE_TEST_CASE("blockwise equals dense for every tile size", "", float, double) {
  Random random(91);
  int blind_rows = 0;
  for (int trial = 0; trial < 150; ++trial) {
    const Head<TestType> head = random_head<TestType>(random);
    const auto expected = dense(head);
    for (const TileSize tile : kTiles) {
      CAPTURE(trial, tile.rows, tile.keys);
      check_close(blockwise(head, tile), expected, kTolerance<TestType>);
    }
    for (Index i = 0; i < head.rows; ++i) {
      const auto a = static_cast<std::size_t>(i);
      if (head.ranges.begin[a] < head.ranges.end[a]) continue;
      ++blind_rows;
      CHECK(expected.lse[a] == kNone<TestType>);
      for (Index c = 0; c < head.dim; ++c) {
        CHECK(expected.out[static_cast<std::size_t>(i * head.dim + c)] == 0);
        CHECK(expected.dq[static_cast<std::size_t>(i * head.dim + c)] == 0);
      }
    }
  }
  CHECK(blind_rows > 50);
}

TEST_CASE("hot scores stay finite and close") {
  Random random(92);
  for (int trial = 0; trial < 60; ++trial) {
    Head<double> head = random_head<double>(random, trial % 2 == 0 ? 10 : 100);  // scores up to about 3e4
    const auto expected = dense(head);
    // A score of s carries a rounding of s * eps into its weight.
    for (const TileSize tile : kTiles)
      check_close(blockwise(head, tile), expected, trial % 2 == 0 ? 1e-11 : 1e-8);
  }
}

TEST_CASE("a key that no row sees has gradients of zero") {
  Random random(93);
  Head<double> head = random_head<double>(random);
  head.ranges.begin.assign(head.ranges.begin.size(), 0);
  head.ranges.end.assign(head.ranges.end.size(), static_cast<int>(head.keys - 1));
  for (const auto& result : {dense(head), blockwise(head, {2, 3})})
    for (Index c = 0; c < head.dim; ++c) {
      CHECK(result.dk[static_cast<std::size_t>((head.keys - 1) * head.dim + c)] == 0);
      CHECK(result.dv[static_cast<std::size_t>((head.keys - 1) * head.dim + c)] == 0);
    }
}

TEST_CASE("the state carries across blocks in any order") {
  Random random(94);
  for (int trial = 0; trial < 100; ++trial) {
    const Position seqlen = random.integer(1, 40);
    const Mask mask = random_mask(random, seqlen);
    Head<double> head = random_head<double>(random);
    head.rows = head.keys = seqlen;
    head.q = normal<double>(random, seqlen * head.dim), head.k = normal<double>(random, seqlen * head.dim);
    head.v = normal<double>(random, seqlen * head.dim), head.dout = normal<double>(random, seqlen * head.dim);
    head.ranges = key_ranges(mask, seqlen);
    const auto expected = dense(head);

    // The keys of rank r of a contiguous sharding are a block; visit the blocks in a random order.
    const Sharding blocks{Layout::kContiguous, seqlen, static_cast<int>(random.integer(1, 5))};
    std::vector<int> order(static_cast<std::size_t>(blocks.world_size));
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int>(i);
    for (std::size_t i = order.size(); i > 1; --i)
      std::swap(order[i - 1], order[static_cast<std::size_t>(random.integer(0, static_cast<Index>(i) - 1))]);
    std::vector<double> out(head.q.size()), lse(static_cast<std::size_t>(seqlen)), sum(lse.size());
    std::vector<double> dq(head.q.size(), 0), dk(head.k.size(), 0), dv(head.v.size(), 0);
    const Partial<double> acc{{out, seqlen, head.dim}, lse, sum};
    set_identity(acc);
    const auto all = Sharding{Layout::kContiguous, seqlen, 1}.positions(0);
    const auto for_each_block = [&](auto body) {
      for (const int block : order) {
        const auto positions = blocks.positions(block);
        if (!positions.empty())
          body(positions.front(), static_cast<Index>(positions.size()),
               ranges_of(mask, seqlen, all, positions));
      }
    };
    for_each_block([&](Index first, Index count, const KeyRanges& ranges) {
      blockwise_forward<double>(head.queries(), head.key_matrix().slice(first, count),
                                head.values().slice(first, count), ranges, head.scale, acc, {3, 4});
    });
    finish(acc);
    const auto delta = delta_of(head, out);
    for_each_block([&](Index first, Index count, const KeyRanges& ranges) {
      blockwise_backward<double>(head.queries(), head.key_matrix().slice(first, count),
                                 head.values().slice(first, count), head.upstream(), lse, delta, ranges,
                                 head.scale, {dq, seqlen, head.dim},
                                 Matrix<double>{dk, seqlen, head.dim}.slice(first, count),
                                 Matrix<double>{dv, seqlen, head.dim}.slice(first, count), {3, 4});
    });
    CAPTURE(trial, seqlen, described(mask));
    check_close<double>({out, lse, dq, dk, dv}, expected, 1e-13);
  }
}

TEST_CASE("backward adds to the gradients that it gets") {
  Random random(95);
  const Head<double> head = random_head<double>(random);
  const auto once = blockwise(head, {4, 4});
  const auto delta = delta_of(head, once.out);
  auto twice = once;
  blockwise_backward<double>(head.queries(), head.key_matrix(), head.values(), head.upstream(), once.lse,
                             delta, head.ranges, head.scale, {twice.dq, head.rows, head.dim},
                             {twice.dk, head.keys, head.dim}, {twice.dv, head.keys, head.dim}, {4, 4});
  auto doubled = once;
  for (auto* numbers : {&doubled.dq, &doubled.dk, &doubled.dv})
    for (double& x : *numbers) x *= 2;
  check_close(twice, doubled, 1e-13);
}

TEST_CASE("a block that no row sees leaves the state bitwise alone") {
  Random random(96);
  Head<double> head = random_head<double>(random);
  head.ranges.begin.assign(head.ranges.begin.size(), 0);
  head.ranges.end.assign(head.ranges.end.size(), 0);
  for (const bool started : {false, true}) {
    std::vector<double> out = normal<double>(random, head.rows * head.dim),
                        max(static_cast<std::size_t>(head.rows), 1.5);
    std::vector<double> sum(max.size(), 2.5);
    const Partial<double> acc{{out, head.rows, head.dim}, max, sum};
    if (!started) set_identity(acc);
    const auto out_before = out, max_before = max, sum_before = sum;
    blockwise_forward<double>(head.queries(), head.key_matrix(), head.values(), head.ranges, head.scale, acc,
                              {2, 2});
    CHECK(out == out_before);
    CHECK(max == max_before);
    CHECK(sum == sum_before);
  }
}

TEST_CASE("row_delta is the dot product of out and dout") {
  const std::vector<double> out{1, 2, 3, 4, 5, 6}, dout{1, 0, -1, 2, 0.5, 1};
  std::vector<double> delta(2);
  row_delta<double>({out, 2, 3}, {dout, 2, 3}, delta);
  CHECK(delta == std::vector<double>{-2, 16.5});
}

TEST_CASE("NaN in one query poisons its own row and no other") {
  Random random(97);
  Head<double> head = random_head<double>(random);
  head.rows = 3, head.keys = 4, head.dim = 2;
  head.q = normal<double>(random, 6), head.k = normal<double>(random, 8), head.v = normal<double>(random, 8);
  head.dout = normal<double>(random, 6);
  head.ranges = {{0, 0, 1}, {2, 3, 4}};
  head.q[2] = std::nan("");
  for (const auto& result : {dense(head), blockwise(head, {2, 2}), blockwise(head, {256, 256})}) {
    for (const std::size_t row : {0, 2}) {
      CHECK(std::isfinite(result.lse[row]));
      CHECK(std::isfinite(result.out[2 * row]));
    }
    CHECK(std::isnan(result.lse[1]));
    CHECK(std::isnan(result.out[2]));
    CHECK(std::isnan(result.out[3]));
    CHECK(std::isnan(result.dq[2]));
  }
}
