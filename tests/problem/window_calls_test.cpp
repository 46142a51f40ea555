// Blocks of a window as calls of a kernel that aligns to the bottom right: exactly the pairs of the key
// ranges, also by the limits that FlashAttention-2 derives, and not without the slices and the split.
#include "ringcraft/problem/window_calls.hpp"

#include <algorithm>

#include "ringcraft/problem/problem.hpp"
#include "support/catch.hpp"

using namespace ringcraft;

namespace {

// The kernel by FlashAttention-2's rules (flash_api.cpp and mask.h): a limit that reaches over all keys is
// none, and a limit of none beside another one is the number of keys.
bool flash_computes(const WindowCall& call, Index row, Index key) {
  if (!call.rows.holds(row) || !call.keys.holds(key)) return false;
  const Index sq = call.rows.rows(), sk = call.keys.rows(), i = row - call.rows.begin,
              j = key - call.keys.begin;
  Index left = call.left >= sk ? -1 : call.left, right = call.right >= sk ? -1 : call.right;
  if (left < 0 && right < 0) return true;
  if (left < 0) left = sk;
  if (right < 0) right = sk;
  return std::max<Index>(0, i + sk - sq - left) <= j && j < std::min(sk, i + 1 + sk - sq + right);
}

// How many of the pairs are computed otherwise than once if visible and never if not.
int wrong_pairs(const std::vector<WindowCall>& calls, Chunk queries, Chunk keys, Position window,
                bool (*computes)(const WindowCall&, Index, Index)) {
  int wrong = 0;
  for (Index a = 0; a < queries.rows(); ++a)
    for (Index b = 0; b < keys.rows(); ++b) {
      const auto times =
          std::ranges::count_if(calls, [&](const WindowCall& call) { return computes(call, a, b); });
      const Position distance = queries.begin + a - (keys.begin + b);
      wrong += times != (distance >= 0 && distance <= window ? 1 : 0);
    }
  return wrong;
}

bool model_computes(const WindowCall& call, Index row, Index key) { return call.computes(row, key); }

void require_exact(Chunk queries, Chunk keys, Position window) {
  const auto calls = window_calls(queries, keys, window);
  INFO("queries " << queries.begin << " to " << queries.end << ", keys " << keys.begin << " to " << keys.end
                  << ", window " << window);
  REQUIRE(wrong_pairs(calls, queries, keys, window, model_computes) == 0);
  REQUIRE(wrong_pairs(calls, queries, keys, window, flash_computes) == 0);
  for (const WindowCall& call : calls) {
    CHECK(call.rows.rows() > 0);
    CHECK((call.rows.rows() <= call.keys.rows() || (call.left < 0 && call.right < 0)));
  }
}

}  // namespace

TEST_CASE("window calls compute the blocks of contiguous shards, of any window and length") {
  for (int n = 1; n <= 5; ++n)
    for (const Position seqlen : {n, 3 * n, 4 * n + 1, 5 * n - 1, 9 * n / 2})
      for (Position window = 0; window <= seqlen + 1; ++window)
        for (int rank = 0; rank < n; ++rank)
          for (int source = 0; source <= rank; ++source)
            require_exact(nth_chunk(seqlen, n, rank), nth_chunk(seqlen, n, source), window);
}

TEST_CASE("window calls compute what the key ranges show, by rank and source") {
  for (const Position window : {0, 3, 6, 9, 14, 30}) {
    const Problem p =
        make_problem({.seqlen = 22, .head_dim = 1}, window_mask(window), Layout::kContiguous, 5);
    for (int rank = 0; rank < 5; ++rank)
      for (int source = 0; source <= rank; ++source) {
        Index pairs = 0;
        const Chunk queries = nth_chunk(22, 5, rank), keys = nth_chunk(22, 5, source);
        for (const WindowCall& call : window_calls(queries, keys, window))
          for (Index a = 0; a < queries.rows(); ++a)
            for (Index b = 0; b < keys.rows(); ++b) pairs += call.computes(a, b) ? 1 : 0;
        CHECK(pairs == key_ranges(p, rank, source).pairs());
      }
  }
}

// A rank's part of a sequence against an earlier rank's: any number of queries, and keys that end anywhere in
// front of them.
TEST_CASE("window calls compute runs of packed sequences, more queries than keys included") {
  int split = 0;
  for (const Position rows : {1, 2, 3, 5, 8})
    for (const Position keys : {1, 2, 3, 5, 8})
      for (const Position between : {0, 1, 4, 8})
        for (Position window = 0; window <= rows + keys + between; ++window) {
          const Position begin = keys + between;
          require_exact({begin, begin + rows}, {0, keys}, window);
          split += window_calls({begin, begin + rows}, {0, keys}, window).size() == 2 ? 1 : 0;
        }
  CHECK(split > 50);
}

TEST_CASE("a corner that is not sliced is right only if the shard divides the window") {
  for (const Index m : {2, 3, 4, 7})
    for (Position window = 1; window <= 3 * m; ++window) {
      const Index c = (window + m - 1) / m;  // the step of the corner
      const Chunk queries{c * m, (c + 1) * m}, keys{0, m};
      const int wrong = wrong_pairs({{{0, m}, {0, m}, 0, -1}}, queries, keys, window, model_computes);
      CHECK((wrong == 0) == (window % m == 0));
    }
}

TEST_CASE("one call with more rows than keys loses keys, and its split loses none") {
  int unsplit_wrong = 0;
  for (const Position rows : {3, 4, 6})
    for (const Position keys : {1, 2, 3})
      for (Position window = keys; window < rows + keys; ++window) {
        const auto calls = window_calls({keys, keys + rows}, {0, keys}, window);
        if (calls.size() < 2) continue;
        WindowCall one = calls.back();
        one.rows.begin = 0;  // the bottom right, and with it the left edge, stays where it is
        unsplit_wrong +=
            wrong_pairs({one}, {keys, keys + rows}, {0, keys}, window, flash_computes) > 0 ? 1 : 0;
      }
  CHECK(unsplit_wrong > 5);
}

// Local lengths are the same on rank 1, and what it sees of block 0 is not: the tokens of the sequence before
// the rank count.
TEST_CASE("local lengths of a pack do not say what a rank sees of the block before") {
  const auto pairs = [](std::vector<Position> borders, Position seqlen, int n, int rank) {
    Mask mask = window_mask(8);
    mask.cu_seqlens = std::move(borders);
    const Problem p = make_problem({.seqlen = seqlen, .head_dim = 1}, mask, Layout::kContiguous, n);
    Index others = 0;
    for (int source = 0; source < rank; ++source) others += key_ranges(p, rank, source).pairs();
    return others;
  };
  CHECK(pairs({0, 6, 8}, 8, 2, 1) == 8);
  CHECK(pairs({0, 3, 6, 8}, 8, 2, 1) == 2);
  CHECK(pairs({0, 1, 11, 12}, 12, 3, 1) == 12);
  CHECK(pairs({0, 2, 12}, 12, 3, 1) == 8);
}
