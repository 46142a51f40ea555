// Explains wrong rows among those of neighbours: a number counts tokens of some ranks, in some order. Both
// are searched.
#include <algorithm>
#include <functional>
#include <numeric>
#include <optional>
#include <span>

#include "verify/diagnose/functions/heads/head_laws.hpp"

namespace ringcraft::verify {
namespace {

// One answer, with the positions of every rank.
struct RowCall {
  int degree, rank;
  std::vector<std::vector<Position>> positions;  // [rank]
  std::vector<Index> got;

  int ranks() const { return static_cast<int>(positions.size()); }
  const std::vector<Position>& own() const { return positions[static_cast<std::size_t>(rank)]; }
  Index rows(int of) const { return std::ssize(positions[static_cast<std::size_t>(of)]); }
};

// The ranks that are taken for neighbours, the own one among them.
struct Party {
  const char* words;
  bool (*has)(const RowCall&, int other);
};

// The right one first.
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
    {"all ranks up to the end of the row",
     [](const RowCall& c, int o) { return o / c.degree <= c.rank / c.degree; }}};

// The tokens of a party, as a number needs them.
struct Members {
  std::vector<int> ranks;           // increasing
  std::vector<Position> positions;  // increasing
  Index before = 0, others = 0;     // rows of the ranks before the own one, and of all but it
  Index number = 0;                 // the own rank's among the party

  Members(const RowCall& c, const Party& party) {
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
  // How many of them lie before a position.
  Index below(Position p) const { return std::ranges::lower_bound(positions, p) - positions.begin(); }
};

// The number that row a gets.
struct Order {
  const char* words;  // "#": the party
  Index (*at)(const RowCall&, const Members&, Index a);
};

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

// The right one first.
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

bool follows(const std::vector<RowCall>& calls, const Party& party, const Order& order) {
  return std::ranges::all_of(calls, [&](const RowCall& c) {
    const Members members(c, party);
    for (Index a = 0; a < c.rows(c.rank); ++a)
      if (c.got[static_cast<std::size_t>(a)] != order.at(c, members, a)) return false;
    return true;
  });
}

std::string with_party(std::string words, const char* party) {
  for (std::size_t at; (at = words.find('#')) != std::string::npos;) words.replace(at, 1, party);
  return words;
}

std::vector<Cause> cause(const std::string& text) {
  return {{"solved-joined-rows", "joined_rows: " + text,
           "Write down the tokens of two neighbours in the order of the sequence, and number them: which "
           "numbers has each?"}};
}

// Answers that have another number of rows than the rank.
std::vector<Cause> causes_of_sizes(const std::vector<RowCall>& calls) {
  const auto all = [&](auto rows) {
    return std::ranges::all_of(calls, [&](const RowCall& c) { return std::ssize(c.got) == rows(c); });
  };
  const auto together = [](const RowCall& c) { return std::ssize(Members(c, kParties[0]).positions); };
  if (all([](const RowCall&) { return Index{0}; })) return cause("no row is returned");
  if (all([](const RowCall& c) { return c.rows(c.rank / c.degree * c.degree); }))
    return cause("there is one number for each row of the first neighbour, not of the rank");
  if (all(together))
    return cause("there is one number for each row of all neighbours, not of the rank alone");
  return {};
}

}  // namespace

std::vector<Cause> causes_of_rows(const std::vector<HeadDealExhibit::Rows>& asked) {
  std::vector<RowCall> calls;
  bool sizes = true;
  for (const auto& [sharding, degree, rank, rows] : asked) {
    if (!rows) continue;
    RowCall& call = calls.emplace_back(RowCall{degree, rank, {}, *rows});
    for (int r = 0; r < sharding.world_size; ++r) call.positions.push_back(sharding.positions(r));
    sizes = sizes && std::ssize(*rows) == call.rows(rank);
  }
  if (calls.size() < 20) return {};
  if (!sizes) return causes_of_sizes(calls);
  if (follows(calls, kParties[0], kOrders[0])) return {};
  const std::string must = ", instead of the tokens of the neighbours before it";
  const auto tell = [&](const Party& party, const Order& order) {
    return cause("a row becomes " + with_party(order.words, party.words) + must);
  };
  for (const Party& party : kParties)
    if (follows(calls, party, kOrders[0])) return tell(party, kOrders[0]);
  for (const Order& order : kOrders)
    for (const Party& party : kParties)
      if (follows(calls, party, order)) return tell(party, order);
  return {};
}

}  // namespace ringcraft::verify
