// The words of rows among those of neighbours.
#include "verify/diagnose/functions/heads/row_orders.hpp"

#include <algorithm>

namespace ringcraft::verify::rows {

RowCall::RowCall(const Sharding& sharding, int neighbours, int own, const std::vector<Index>& answer)
    : degree(neighbours), rank(own), got(answer) {
  for (int r = 0; r < sharding.world_size; ++r) positions.push_back(sharding.positions(r));
}

Members::Members(const RowCall& c, const Party& party) {
  for (int other = 0; other < c.ranks(); ++other) {
    if (!party.has(c, other)) continue;
    if (other == c.rank) number = std::ssize(ranks);
    if (other < c.rank) before += c.rows(other);
    if (other != c.rank) others += c.rows(other);
    ranks.push_back(other);
    const auto& more = c.positions[static_cast<std::size_t>(other)];
    positions.insert(positions.end(), more.begin(), more.end());
  }
  std::ranges::sort(positions);
}

Index Members::below(Position p) const { return std::ranges::lower_bound(positions, p) - positions.begin(); }

namespace {

constexpr Party kParties[] = {
    {"the neighbours", [](const RowCall& c, int o) { return o / c.degree == c.rank / c.degree; }},
    {"all ranks", [](const RowCall&, int) { return true; }},
    {"the ranks of the same rank mod degree",
     [](const RowCall& c, int o) { return o % c.degree == c.rank % c.degree; }},
    {"the ranks of the same rank mod (ranks / degree)",
     [](const RowCall& c, int o) {
       const int columns = c.ranks() / c.degree;
       return o % columns == c.rank % columns;
     }},
    {"the first `degree` ranks and the own one",
     [](const RowCall& c, int o) { return o < c.degree || o == c.rank; }},
    {"the `degree` ranks from the own one on",
     [](const RowCall& c, int o) { return o >= c.rank && o < c.rank + c.degree; }},
    {"the `degree` ranks from the own one on, around the ring",
     [](const RowCall& c, int o) { return (o - c.rank + c.ranks()) % c.ranks() < c.degree; }},
    {"the neighbours before the own rank, and it",
     [](const RowCall& c, int o) { return o / c.degree == c.rank / c.degree && o <= c.rank; }},
    {"the neighbours after the own rank, and it",
     [](const RowCall& c, int o) { return o / c.degree == c.rank / c.degree && o >= c.rank; }},
    {"the neighbours without the last one, and the own rank",
     [](const RowCall& c, int o) {
       return o == c.rank || (o / c.degree == c.rank / c.degree && o % c.degree != c.degree - 1);
     }},
    {"the neighbours without the first one, and the own rank",
     [](const RowCall& c, int o) {
       return o == c.rank || (o / c.degree == c.rank / c.degree && o % c.degree != 0);
     }},
    {"the first `degree` ranks without number rank mod degree, and the own one",
     [](const RowCall& c, int o) { return o == c.rank || (o < c.degree && o != c.rank % c.degree); }},
    {"the ranks from rank / degree on, `degree` of them, and the own one",
     [](const RowCall& c, int o) {
       const int first = c.rank / c.degree;
       return o == c.rank || (o >= first && o < first + c.degree);
     }},
    {"the ranks from (rank / degree * degree) mod 8 on, `degree` of them, and the own one",
     [](const RowCall& c, int o) {
       const int first = c.rank / c.degree * c.degree % 8;
       return o == c.rank || (o >= first && o < first + c.degree);
     }},
    {"all ranks up to the end of the row",
     [](const RowCall& c, int o) { return o / c.degree <= c.rank / c.degree; }}};

Position position(const RowCall& c, Index a) { return c.own()[static_cast<std::size_t>(a)]; }
Index size_of(const Members& m) { return std::ssize(m.ranks); }

// The rows of another rank that are passed if at most one is passed for each own row, as far as row a.
Index passed_one_by_one(const RowCall& c, int other, Index a) {
  const std::vector<Position>& theirs = c.positions[static_cast<std::size_t>(other)];
  Index passed = 0;
  for (Index row = 0; row <= a; ++row)
    passed +=
        passed < std::ssize(theirs) && theirs[static_cast<std::size_t>(passed)] < position(c, row) ? 1 : 0;
  return passed;
}

// The number of row a if one index passes the tokens of all others in turn, and is never set back.
Index passed_by_one_index(const RowCall& c, const Members& m, Index a) {
  Index number = a;
  std::size_t index = 0;
  for (const int r : m.ranks) {
    if (r == c.rank) continue;
    const std::vector<Position>& theirs = c.positions[static_cast<std::size_t>(r)];
    for (Index row = 0; row < c.rows(c.rank); ++row) {
      while (index < theirs.size() && theirs[index] < position(c, row)) ++index;
      if (row == a) number += static_cast<Index>(index);
    }
  }
  return number;
}

// The tokens of the others before row a, without those of a rank that all lie before it.
Index without_finished_ranks(const RowCall& c, const Members& m, Index a) {
  Index number = a;
  for (const int r : m.ranks) {
    const std::vector<Position>& theirs = c.positions[static_cast<std::size_t>(r)];
    const Index before = std::ranges::lower_bound(theirs, position(c, a)) - theirs.begin();
    number += r != c.rank && before < std::ssize(theirs) ? before : 0;
  }
  return number;
}

// If the shards are put one after another and sorted: the number of the row that comes to the place of row a.
Index sorted_to_the_place(const RowCall& c, const Members& m, Index a) {
  const Position p = m.positions[static_cast<std::size_t>(m.before + a)];
  Index before = 0;
  for (const int r : m.ranks) {
    const std::vector<Position>& theirs = c.positions[static_cast<std::size_t>(r)];
    const auto found = std::ranges::lower_bound(theirs, p);
    if (found != theirs.end() && *found == p) return before + (found - theirs.begin());
    before += std::ssize(theirs);
  }
  return -1;
}

constexpr Order kOrders[] = {
    {"the tokens of # before it",
     [](const RowCall& c, const Members& m, Index a) { return m.below(position(c, a)); }},
    {"its number in the own shard: the own rows come first",
     [](const RowCall&, const Members&, Index a) { return a; }},
    {"its number if the shards of # are put one after another",
     [](const RowCall&, const Members& m, Index a) { return m.before + a; }},
    {"its number if the own rows come after all others of #",
     [](const RowCall&, const Members& m, Index a) { return m.others + a; }},
    {"its number if the shards of # are put one after another, the last one first",
     [](const RowCall&, const Members& m, Index a) { return m.others - m.before + a; }},
    {"its position in the whole sequence",
     [](const RowCall& c, const Members&, Index a) { return position(c, a); }},
    {"its position, counted from the first token of #",
     [](const RowCall& c, const Members& m, Index a) { return position(c, a) - m.positions.front(); }},
    {"the tokens of # up to and with it",
     [](const RowCall& c, const Members& m, Index a) { return m.below(position(c, a)) + 1; }},
    {"the tokens of # before it, without those of its own rank",
     [](const RowCall& c, const Members& m, Index a) { return m.below(position(c, a)) - a; }},
    {"the tokens of # before it, of its own rank twice",
     [](const RowCall& c, const Members& m, Index a) { return m.below(position(c, a)) + a; }},
    {"its row times the number of # plus the own rank's number among them: one row of each in turn",
     [](const RowCall&, const Members& m, Index a) { return a * size_of(m) + m.number; }},
    {"its row times the number of # plus the own rank's number in the ring",
     [](const RowCall& c, const Members& m, Index a) { return a * size_of(m) + c.rank; }},
    {"its row plus the own rows times the rank's number among #: equal shards, one after another",
     [](const RowCall& c, const Members& m, Index a) { return m.number * c.rows(c.rank) + a; }},
    {"its row plus the own rows times the rank",
     [](const RowCall& c, const Members&, Index a) { return c.rank * c.rows(c.rank) + a; }},
    {"its row plus the tokens of # before the first row",
     [](const RowCall& c, const Members& m, Index a) { return m.below(position(c, 0)) + a; }},
    {"its row plus the tokens of # before the next row, less one",
     [](const RowCall& c, const Members& m, Index a) {
       return a + 1 < c.rows(c.rank) ? m.below(position(c, a + 1)) - 1 : m.below(position(c, a));
     }},
    {"its row times the number of #",
     [](const RowCall&, const Members& m, Index a) { return a * size_of(m); }},
    {"its number if the own rows come last, backwards",
     [](const RowCall& c, const Members& m, Index a) { return m.others + c.rows(c.rank) - 1 - a; }},
    {"the tokens of # after it",
     [](const RowCall& c, const Members& m, Index a) {
       return std::ssize(m.positions) - 1 - m.below(position(c, a));
     }},
    {"the tokens of # before the last row, in every row",
     [](const RowCall& c, const Members& m, Index) { return m.below(c.own().back()); }},
    {"its number if a row passes one row of each of # at most",
     [](const RowCall& c, const Members& m, Index a) {
       Index number = a;
       for (const int r : m.ranks) number += r != c.rank ? passed_one_by_one(c, r, a) : 0;
       return number;
     }},
    {"the tokens of # before it, without those of a rank that all lie before it", without_finished_ranks},
    {"its number if one index passes the tokens of # rank after rank, and is never set back to 0",
     passed_by_one_index},
    {"the number, shard after shard, of the token that comes to its place when those of # are sorted: the "
     "permutation, and not its inverse",
     sorted_to_the_place},
    {"its number if the early halves of the shards of # come first and then the late halves, the last rank's "
     "first",
     [](const RowCall& c, const Members& m, Index a) {
       const auto early = [&](int r) { return (c.rows(r) + 1) / 2; };
       Index number = a;
       for (const int r : m.ranks) {
         if (a < early(c.rank))
           number += r < c.rank ? early(r) : 0;
         else
           number += (r != c.rank ? early(r) : 0) + (r > c.rank ? c.rows(r) - early(r) : 0);
       }
       return number;
     }}};

}  // namespace

std::span<const Party> parties() { return kParties; }
std::span<const Order> orders() { return kOrders; }

}  // namespace ringcraft::verify::rows
