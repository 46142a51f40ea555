// Tests the laws of heads dealt among neighbours, and of rows among theirs: formulas and orders are told by
// what they give, also where one kind of shape alone is wrong, and right answers have no cause.
#include <algorithm>
#include <functional>

#include "support/catch.hpp"
#include "verify/diagnose/diagnose.hpp"

namespace ringcraft::verify {
namespace {

using Dealt = std::function<DealtHeads(const Shape&, Index degree, Index member)>;
using Rows = std::function<std::vector<Index>(const Sharding&, int degree, int rank)>;

// The first cause of these answers; the other function is right.
Cause cause_of(const Dealt& heads, const Rows& rows = joined_rows) {
  HeadDealExhibit x;
  constexpr Index kHeads[][3] = {{8, 8, 4}, {12, 6, 3}, {16, 4, 2}, {24, 8, 4}, {8, 2, 4},
                                 {8, 1, 4}, {12, 3, 6}, {24, 2, 8}, {18, 3, 9}};
  for (const auto& [query, kv, degree] : kHeads)
    for (int member = 0; member < degree; ++member) {
      const Shape shape{.heads = query, .kv_heads = kv, .seqlen = 8, .head_dim = 4};
      x.heads.push_back({shape, static_cast<int>(degree), member, heads(shape, degree, member)});
    }
  for (const Layout layout : kLayouts)
    for (const int degree : {1, 2, 3})
      for (int rank = 0; rank < 6; ++rank) {
        const Sharding sharding{layout, 23, 6};
        x.rows.push_back({sharding, degree, rank, rows(sharding, degree, rank)});
      }
  const std::vector<Cause> causes = causes_of(x);
  return causes.empty() ? Cause{} : causes[0];
}

Cause cause_of_rows(const Rows& rows) {
  return cause_of(
      [](const Shape& shape, Index degree, Index member) {
        return dealt_heads(shape, static_cast<int>(degree), static_cast<int>(member));
      },
      rows);
}

bool tells(const Cause& cause, const std::string& words) {
  INFO(cause.sentence);
  return cause.sentence.find(words) != std::string::npos;
}

}  // namespace

TEST_CASE("right heads and rows have no cause") { CHECK(cause_of_rows(joined_rows).id.empty()); }

TEST_CASE("a formula of heads is told by its values") {
  const Cause whole = cause_of([](const Shape& s, Index degree, Index m) {
    const Index share = s.heads / degree;
    return DealtHeads{{m, share}, {m / s.group(), std::max<Index>(1, s.kv_heads / degree)}};
  });
  CHECK(whole.id == "solved-dealt-heads");
  CHECK(
      tells(whole, "the first query head is m, the number of the neighbour instead of m * (heads / degree)"));
  CHECK_FALSE(tells(whole, "KV"));  // it follows from the first query head

  const Cause replicated = cause_of([](const Shape& s, Index degree, Index m) {
    const Index share = s.heads / degree, kv = s.kv_heads / degree;
    return DealtHeads{{m * share, share}, {kv == 0 ? m % s.kv_heads : m * kv, std::max<Index>(1, kv)}};
  });
  CHECK(tells(replicated, "the first KV head is m * max(1, kv_heads / degree) mod kv_heads"));

  const Cause one_kind = cause_of([](const Shape& s, Index degree, Index m) {
    const Index share = s.heads / degree, kv = s.kv_heads / degree;
    return DealtHeads{{m * share, share}, {m * share / s.group(), kv == 0 ? s.kv_heads : kv}};
  });
  CHECK(
      tells(one_kind, "with fewer KV heads than neighbours the number of KV heads is kv_heads: all of them"));
}

TEST_CASE("an order of rows is told by its numbers") {
  const Cause after = cause_of_rows([](const Sharding& s, int degree, int rank) {
    Index before = 0;
    for (int r = rank / degree * degree; r < rank; ++r) before += s.rows(r);
    std::vector<Index> rows;
    for (Index a = 0; a < s.rows(rank); ++a) rows.push_back(before + a);
    return rows;
  });
  CHECK(after.id == "solved-joined-rows");
  CHECK(tells(after, "the shards of the neighbours are put one after another"));

  const Cause column = cause_of_rows([](const Sharding& s, int degree, int rank) {
    std::vector<Index> rows;
    for (const Position p : s.positions(rank)) {
      Index before = 0;
      for (int r = rank % degree; r < s.world_size; r += degree)
        before += std::ranges::count_if(s.positions(r), [&](Position other) { return other < p; });
      rows.push_back(before);
    }
    return rows;
  });
  CHECK(tells(column, "the tokens of the ranks of the same rank mod degree before it"));

  const Cause one_index = cause_of_rows([](const Sharding& s, int degree, int rank) {
    const std::vector<Position> own = s.positions(rank);
    std::vector<Index> rows;
    for (Index a = 0; a < std::ssize(own); ++a) rows.push_back(a);
    std::size_t index = 0;
    for (int r = rank / degree * degree; r < (rank / degree + 1) * degree; ++r) {
      if (r == rank) continue;
      const std::vector<Position> theirs = s.positions(r);
      for (std::size_t a = 0; a < own.size(); ++a) {
        while (index < theirs.size() && theirs[index] < own[a]) ++index;
        rows[a] += static_cast<Index>(index);
      }
    }
    return rows;
  });
  CHECK(tells(one_index, "is never set back to 0"));

  const Cause random = cause_of_rows([](const Sharding& s, int, int rank) {
    std::vector<Index> rows;
    for (const Position p : s.positions(rank)) rows.push_back(p * p % 7);
    return rows;
  });
  CHECK(random.id.empty());
}

TEST_CASE("answers that do not come, and steps that grow with the square, are told") {
  HeadDealExhibit x;
  for (const Layout layout : kLayouts)
    for (int rank = 0; rank < 6; ++rank) {
      const Sharding sharding{layout, 24, 6};
      x.rows.push_back({sharding, 2, rank, joined_rows(sharding, 2, rank)});
    }
  x.counted = {{256, 2000}, {1024, 8100}};
  CHECK(causes_of(x).empty());
  x.counted.back().steps = 31000;
  CHECK(causes_of(x).at(0).id == "solved-rows-steps");
  for (auto& each : x.rows)
    if (each.sharding.positions(each.rank).back() > each.sharding.positions(each.rank ^ 1).back())
      each.rows.reset();
  const std::vector<Cause> causes = causes_of(x);
  REQUIRE(causes.size() == 1);
  CHECK(causes[0].sentence ==
        "joined_rows does not return if a row lies after the last token of a neighbour");
}

}  // namespace ringcraft::verify
