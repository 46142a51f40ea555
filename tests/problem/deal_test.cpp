// The tokens that layouts deal: rounds and chunks, also where a shard ends, is empty, or is far away.
#include "ringcraft/problem/deal.hpp"

#include <vector>

#include "support/catch.hpp"
#include "support/errors.hpp"

using namespace ringcraft;
using namespace ringcraft::testing;

TEST_CASE("chunks are cut as numpy.array_split cuts") {
  const auto sizes = [](Position seqlen, int chunks) {
    std::vector<Index> rows;
    Position next = 0;
    for (int g = 0; g < chunks; ++g) {
      const Chunk chunk = nth_chunk(seqlen, chunks, g);
      CHECK(chunk.begin == next);
      next = chunk.end;
      rows.push_back(chunk.rows());
    }
    CHECK(next == seqlen);
    return rows;
  };
  CHECK(sizes(7, 3) == std::vector<Index>{3, 2, 2});
  CHECK(sizes(9, 1) == std::vector<Index>{9});
  CHECK(sizes(12, 4) == std::vector<Index>{3, 3, 3, 3});
  CHECK(sizes(11, 4) == std::vector<Index>{3, 3, 3, 2});
  CHECK(sizes(2, 4) == std::vector<Index>{1, 1, 0, 0});
}

TEST_CASE("the chunks of a zig-zag are the first with the last") {
  CHECK(zigzag_chunks(16, 4, 0) == ChunkPair{{0, 2}, {14, 16}});
  CHECK(zigzag_chunks(16, 4, 3) == ChunkPair{{6, 8}, {8, 10}});
  CHECK(zigzag_chunks(7, 2, 0) == ChunkPair{{0, 2}, {6, 7}});
  CHECK(zigzag_chunks(7, 2, 1) == ChunkPair{{2, 4}, {4, 6}});
  CHECK(zigzag_chunks(5, 1, 0) == ChunkPair{{0, 3}, {3, 5}});
  CHECK(zigzag_chunks(1, 3, 1).early.rows() == 0);
}

TEST_CASE("tokens are dealt in rounds, and owner and position undo each other") {
  for (const Layout layout : {Layout::kStriped, Layout::kZigzagToken})
    for (int n = 1; n <= 9; ++n)
      for (Index row = 0; row < 12; ++row)
        for (int rank = 0; rank < n; ++rank) {
          const Position p = token_position(layout, n, rank, row);
          CAPTURE(name_of(layout), n, row, rank, p);
          CHECK(p / n == row);
          CHECK(token_owner(layout, n, p) == rank);
        }
}

TEST_CASE("positions beyond 32 bits") {
  const Index row = Index{1} << 33;
  CHECK(token_position(Layout::kStriped, 3, 2, row) == 3 * row + 2);
  CHECK(token_position(Layout::kZigzagToken, 3, 2, row + 1) == 3 * row + 3);
  CHECK(token_owner(Layout::kZigzagToken, 3, 3 * row + 3) == 2);
  CHECK(nth_chunk(7 * row + 1, 7, 6) == Chunk{6 * row + 1, 7 * row + 1});
}

TEST_CASE("a position that no rank owns is refused") {
  for (const Layout layout : kLayouts)
    for (const Position p : {-1, 10, 11}) {
      CAPTURE(name_of(layout), p);
      check_refused(
          [&] {
            return Sharding{layout, 10, 3}.owner_of(p);
          },
          "owner_of: expected a position from 0 to seqlen - 1 (9), got " + std::to_string(p));
    }
}
