// Layouts against brute force: every function of Sharding, for every length and world size of a small range.
#include "ringcraft/problem/layout.hpp"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "ringcraft/core/random.hpp"
#include "support/catch.hpp"
#include "support/errors.hpp"
#include "support/random_problem.hpp"

using namespace ringcraft;
using namespace ringcraft::testing;

namespace {

// The owner of each position, by dealing tokens out one after the other.
std::vector<int> dealt(Layout layout, Position seqlen, int n) {
  std::vector<int> owner;
  if (layout == Layout::kStriped || layout == Layout::kZigzagToken) {
    for (int round = 0; static_cast<Position>(owner.size()) < seqlen; ++round)
      for (int seat = 0; seat < n && static_cast<Position>(owner.size()) < seqlen; ++seat)
        owner.push_back(layout == Layout::kZigzagToken && round % 2 == 1 ? n - 1 - seat : seat);
    return owner;
  }
  const int chunks = layout == Layout::kContiguous ? n : 2 * n;
  for (int g = 0; g < chunks; ++g) {
    const Position rows = seqlen / chunks + (g < seqlen % chunks ? 1 : 0);
    owner.insert(owner.end(), static_cast<std::size_t>(rows), g < n ? g : 2 * n - 1 - g);
  }
  return owner;
}

using Sets = std::vector<std::vector<Position>>;

Sets all_positions(Layout layout, Position seqlen, int n) {
  Sets sets;
  for (int rank = 0; rank < n; ++rank) sets.push_back(Sharding{layout, seqlen, n}.positions(rank));
  return sets;
}

}  // namespace

TEST_CASE("all functions of a layout agree with dealing the tokens out") {
  for (const Layout layout : kLayouts)
    for (int n = 1; n <= 9; ++n)
      for (Position seqlen = 1; seqlen <= 50; ++seqlen) {
        CAPTURE(name_of(layout), n, seqlen);
        const Sharding sharding{layout, seqlen, n};
        const std::vector<int> owner = dealt(layout, seqlen, n);
        Sets expected(static_cast<std::size_t>(n));
        for (Position p = 0; p < seqlen; ++p)
          expected[static_cast<std::size_t>(owner[static_cast<std::size_t>(p)])].push_back(p);

        int wrong = 0;
        Index smallest = seqlen, largest = 0;
        for (int rank = 0; rank < n; ++rank) {
          const auto& mine = expected[static_cast<std::size_t>(rank)];
          wrong += sharding.positions(rank) != mine;
          wrong += sharding.rows(rank) != static_cast<Index>(mine.size());
          for (std::size_t a = 0; a < mine.size(); ++a) {
            wrong += sharding.owner_of(mine[a]) != rank;
            wrong += sharding.global_from_local(rank, static_cast<Index>(a)) != mine[a];
            wrong += sharding.local_from_global(mine[a]) != static_cast<Index>(a);
          }
          smallest = std::min(smallest, sharding.rows(rank));
          largest = std::max(largest, sharding.rows(rank));
        }
        CHECK(wrong == 0);
        CHECK(largest - smallest <= 1);
        CHECK(sharding.largest_rows() == largest);
      }
}

TEST_CASE("known shards") {
  CHECK(all_positions(Layout::kZigzagToken, 16, 4) ==
        Sets{{0, 7, 8, 15}, {1, 6, 9, 14}, {2, 5, 10, 13}, {3, 4, 11, 12}});
  CHECK(all_positions(Layout::kZigzag, 16, 4) ==
        Sets{{0, 1, 14, 15}, {2, 3, 12, 13}, {4, 5, 10, 11}, {6, 7, 8, 9}});
  CHECK(all_positions(Layout::kStriped, 16, 4) ==
        Sets{{0, 4, 8, 12}, {1, 5, 9, 13}, {2, 6, 10, 14}, {3, 7, 11, 15}});
  CHECK(all_positions(Layout::kContiguous, 16, 4) ==
        Sets{{0, 1, 2, 3}, {4, 5, 6, 7}, {8, 9, 10, 11}, {12, 13, 14, 15}});
  for (const Layout layout : {Layout::kZigzag, Layout::kZigzagToken})
    CHECK(all_positions(layout, 8, 4) == Sets{{0, 7}, {1, 6}, {2, 5}, {3, 4}});
}

TEST_CASE("packed sequences that are dealt each by itself: every rank owns its part of every sequence") {
  Random random(405);
  for (const Layout layout : kLayouts)
    for (int n = 1; n <= 7; ++n)
      for (int times = 0; times < 60; ++times) {
        const Position seqlen = random.integer(1, 50);
        const std::vector<Position> borders = random_borders(random, seqlen);
        const Sharding sharding{layout, seqlen, n, borders};
        CAPTURE(name_of(layout), n, seqlen, borders);
        std::vector<int> owner(static_cast<std::size_t>(seqlen), -1);
        int wrong = 0;
        Index smallest = seqlen, largest = 0;
        for (int rank = 0; rank < n; ++rank) {
          const std::vector<Position> mine = sharding.positions(rank);
          wrong += !std::ranges::is_sorted(mine) || sharding.rows(rank) != static_cast<Index>(mine.size());
          for (std::size_t a = 0; a < mine.size(); ++a) {
            wrong += std::exchange(owner.at(static_cast<std::size_t>(mine[a])), rank) != -1;
            wrong += sharding.owner_of(mine[a]) != rank;
            wrong += sharding.global_from_local(rank, static_cast<Index>(a)) != mine[a];
            wrong += sharding.local_from_global(mine[a]) != static_cast<Index>(a);
          }
          smallest = std::min(smallest, sharding.rows(rank));
          largest = std::max(largest, sharding.rows(rank));
        }
        // Each sequence is dealt as if it were alone, up to the rank that comes first.
        for (std::size_t i = 1; i < borders.size(); ++i) {
          const std::vector<int> alone = dealt(layout, borders[i] - borders[i - 1], n);
          const int turned = owner[static_cast<std::size_t>(borders[i - 1])] - alone[0] + n;
          for (std::size_t p = 0; p < alone.size(); ++p)
            wrong += owner[static_cast<std::size_t>(borders[i - 1]) + p] != (alone[p] + turned) % n;
          if (i == 1) wrong += turned != n;  // the first one is not turned
        }
        CHECK(wrong == 0);
        CHECK(largest - smallest <= 1);
        CHECK(sharding.largest_rows() == largest);
        if (borders.size() == 2) CHECK(owner == dealt(layout, seqlen, n));
      }
}

TEST_CASE("sequences that twice the ranks divide keep the places of a single one") {
  const Sharding sharding{Layout::kZigzag, 24, 4, {0, 8, 24}};
  CHECK(sharding.positions(0) == std::vector<Position>{0, 7, 8, 9, 22, 23});
  CHECK(sharding.positions(3) == std::vector<Position>{3, 4, 14, 15, 16, 17});
}

TEST_CASE("ragged and empty shards are cut as numpy.array_split cuts") {
  CHECK(all_positions(Layout::kContiguous, 7, 3) == Sets{{0, 1, 2}, {3, 4}, {5, 6}});
  CHECK(all_positions(Layout::kContiguous, 2, 4) == Sets{{0}, {1}, {}, {}});
  CHECK(all_positions(Layout::kZigzag, 7, 2) == Sets{{0, 1, 6}, {2, 3, 4, 5}});
  CHECK(all_positions(Layout::kZigzag, 1, 3) == Sets{{0}, {}, {}});
}

TEST_CASE("adjacent pairs within a shard") {
  // Only the chunk zig-zag and the contiguous layout keep neighbours together.
  const auto adjacent = [](Layout layout) {
    std::vector<int> pairs;
    for (const auto& set : all_positions(layout, 64, 4)) {
      pairs.push_back(0);
      for (std::size_t a = 1; a < set.size(); ++a) pairs.back() += set[a] == set[a - 1] + 1;
    }
    return pairs;
  };
  CHECK(adjacent(Layout::kZigzagToken) == std::vector{7, 0, 0, 8});
  CHECK(adjacent(Layout::kZigzag) == std::vector{14, 14, 14, 15});
  CHECK(adjacent(Layout::kStriped) == std::vector{0, 0, 0, 0});
  CHECK(adjacent(Layout::kContiguous) == std::vector{15, 15, 15, 15});
}

TEST_CASE("names of the layouts") {
  std::set<std::string_view> names;
  for (const Layout layout : kLayouts) names.insert(name_of(layout));
  CHECK(names == std::set<std::string_view>{"contiguous", "striped", "zigzag", "zigzag-token"});
}

TEST_CASE("gather undoes scatter, and rows land where their positions say") {
  Random random(21);
  for (const Layout layout : kLayouts)
    for (const int n : {1, 2, 3, 5, 8})
      for (const Position seqlen : {1, 3, 7, 16, 29}) {
        CAPTURE(name_of(layout), n, seqlen);
        const Sharding sharding{layout, seqlen, n};
        for (const DType type : {DType::kFloat64, DType::kFloat32, DType::kBFloat16}) {
          const Buffer whole = random_normal({2, 3, seqlen, 4}, type, random);
          Buffer back(whole.extents(), type);
          int wrong = 0;
          for (int rank = 0; rank < n; ++rank) {
            const Buffer shard = scatter(whole, sharding, rank);
            wrong += shard.extents() != Extents{2, 3, sharding.rows(rank), 4} || shard.dtype() != type;
            gather(back, shard, sharding, rank);
            const std::size_t row_bytes = 4 * size_of(type);
            for (Index head = 0; head < 6; ++head)
              for (Index a = 0; a < sharding.rows(rank); ++a) {
                const auto from =
                    static_cast<std::size_t>(head * seqlen + sharding.global_from_local(rank, a));
                const auto to = static_cast<std::size_t>(head * sharding.rows(rank) + a);
                wrong += !std::ranges::equal(whole.bytes().subspan(from * row_bytes, row_bytes),
                                             shard.bytes().subspan(to * row_bytes, row_bytes));
              }
          }
          CHECK(wrong == 0);
          CHECK(std::ranges::equal(whole.bytes(), back.bytes()));
        }
      }
}

TEST_CASE("scatter and gather refuse tensors of other lengths") {
  const Sharding sharding{Layout::kZigzag, 10, 3};
  Buffer whole({1, 1, 10, 2}, DType::kFloat32), longer({1, 1, 11, 2}, DType::kFloat32);
  check_refused([&] { return scatter(longer, sharding, 0).empty(); }, "scatter: expected 10 rows, got 11");
  check_refused([&] { gather(longer, scatter(whole, sharding, 1), sharding, 1); },
                "gather: expected 10 rows, got 11");
  const Buffer other({1, 1, 5, 2}, DType::kFloat32);
  check_refused([&] { gather(whole, other, sharding, 0); }, "gather: expected 3 rows, got 5");
}

TEST_CASE("joined shards hold the tokens of neighbours, in the order of the sequence") {
  CHECK(Sharding{Layout::kContiguous, 10, 2, {}, 2}.positions(0) == std::vector<Position>{0, 1, 2, 3, 4, 5});
  CHECK(Sharding{Layout::kStriped, 9, 2, {}, 2}.positions(1) == std::vector<Position>{2, 3, 6, 7});
  CHECK(Sharding{Layout::kZigzag, 16, 2, {}, 2}.positions(1) ==
        std::vector<Position>{4, 5, 6, 7, 8, 9, 10, 11});
  for (const Layout layout : kLayouts)
    for (const int joined : {1, 2, 3})
      for (const int n : {1, 2, 5})
        for (const Position seqlen : {1, 7, 30, 61})
          for (const bool packed : {false, true}) {
            const std::vector<Position> cu =
                packed && seqlen > 7 ? std::vector<Position>{0, 3, 4, seqlen} : std::vector<Position>{};
            const Sharding together{layout, seqlen, n, cu, joined}, apart{layout, seqlen, n * joined, cu};
            CAPTURE(name_of(layout), joined, n, seqlen, packed);
            Index most = 0;
            for (int rank = 0; rank < n; ++rank) {
              std::vector<Position> want;
              for (int member = rank * joined; member < (rank + 1) * joined; ++member)
                for (const Position p : apart.positions(member)) want.push_back(p);
              std::ranges::sort(want);
              CHECK(together.positions(rank) == want);
              CHECK(together.rows(rank) == static_cast<Index>(want.size()));
              most = std::max(most, together.rows(rank));
              int wrong = 0;
              for (std::size_t a = 0; a < want.size(); ++a) {
                wrong += together.owner_of(want[a]) != rank;
                wrong += together.global_from_local(rank, static_cast<Index>(a)) != want[a];
                wrong += together.local_from_global(want[a]) != static_cast<Index>(a);
              }
              CHECK(wrong == 0);
            }
            CHECK(together.largest_rows() == most);
          }
}
