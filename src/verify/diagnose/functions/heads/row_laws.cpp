// Explains wrong rows among those of neighbours: a number counts tokens of some ranks, in some order. Both
// are searched. Answers that do not come, and steps, have laws of their own.
#include <algorithm>

#include "verify/diagnose/functions/heads/head_laws.hpp"
#include "verify/diagnose/functions/heads/row_orders.hpp"

namespace ringcraft::verify {
namespace {

using namespace rows;

bool follows(const std::vector<RowCall>& calls, const Party& party, const Order& order) {
  return std::ranges::all_of(calls, [&](const RowCall& c) {
    if (std::ssize(c.got) != c.rows(c.rank)) return false;
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
  const auto together = [](const RowCall& c) { return std::ssize(Members(c, parties()[0]).positions); };
  if (all([](const RowCall&) { return Index{0}; })) return cause("no row is returned");
  if (all([](const RowCall& c) { return c.rows(c.rank / c.degree * c.degree); }))
    return cause("there is one number for each row of the first neighbour, not of the rank");
  if (all(together))
    return cause("there is one number for each row of all neighbours, not of the rank alone");
  return {};
}

// Answers that do not come.
struct RowSilence {
  const char* words;
  bool (*holds)(const RowCall&);
};
bool is_neighbour(const RowCall& c, int other) { return other != c.rank && parties()[0].has(c, other); }
// Whether a neighbour's tokens all lie before the last own row.
bool passes_a_last_token(const RowCall& c) {
  for (int r = 0; r < c.ranks(); ++r) {
    const std::vector<Position>& theirs = c.positions[static_cast<std::size_t>(r)];
    if (is_neighbour(c, r) && !c.own().empty() && (theirs.empty() || theirs.back() < c.own().back()))
      return true;
  }
  return false;
}
constexpr RowSilence kRowSilences[] = {
    {"", [](const RowCall&) { return true; }},
    {" if a row lies after the last token of a neighbour", passes_a_last_token},
    {" if the rank has neighbours", [](const RowCall& c) { return c.degree > 1; }},
    {" if the rank has no token", [](const RowCall& c) { return c.own().empty(); }},
    {" if the rank has tokens", [](const RowCall& c) { return !c.own().empty(); }},
    {" if the rank is not the first of its row", [](const RowCall& c) { return c.rank % c.degree != 0; }},
    {" if the rank is not in the first row", [](const RowCall& c) { return c.rank >= c.degree; }}};

std::vector<Cause> cause_of_silent_rows(const std::vector<HeadDealExhibit::Rows>& asked) {
  if (std::ranges::all_of(asked, [](const auto& each) { return each.rows.has_value(); })) return {};
  for (const RowSilence& silence : kRowSilences)
    if (std::ranges::all_of(asked, [&](const auto& each) {
          return each.rows.has_value() != silence.holds(RowCall(each.sharding, each.degree, each.rank, {}));
        }))
      return {{"solved-rows-none", std::string("joined_rows does not return") + silence.words,
               "What follows the last token of a shard, and who asks for it?"}};
  return {};
}

// Four times the rows take four times the steps, or sixteen times.
std::vector<Cause> cause_of_steps(const std::vector<HeadDealExhibit::Counted>& counted) {
  if (counted.size() < 2) return {};
  const auto &few = counted.front(), &many = counted.back();
  if (many.steps * few.rows < 2 * few.steps * many.rows) return {};
  return {{"solved-rows-steps",
           "joined_rows: the steps grow with the square of the rows of a shard, as they do if each row "
           "goes through the tokens of a neighbour anew",
           "Both lists increase: where did the search for the last row stop?"}};
}

// The calls as they are if packed sequences are dealt as one.
std::vector<RowCall> without_packs(const std::vector<HeadDealExhibit::Rows>& asked) {
  std::vector<RowCall> calls;
  for (auto [sharding, degree, rank, rows] : asked) {
    sharding.cu_seqlens.clear();
    if (rows) calls.emplace_back(sharding, degree, rank, *rows);
  }
  return calls;
}

}  // namespace

std::vector<Cause> causes_of_rows(const HeadDealExhibit& x) {
  if (auto silent = cause_of_silent_rows(x.rows); !silent.empty()) return silent;
  std::vector<RowCall> calls;
  for (const auto& [sharding, degree, rank, rows] : x.rows)
    if (rows) calls.emplace_back(sharding, degree, rank, *rows);
  if (calls.size() < 20) return {};
  if (follows(calls, parties()[0], orders()[0])) return cause_of_steps(x.counted);
  if (follows(without_packs(x.rows), parties()[0], orders()[0]))
    return cause("packed sequences are dealt as one, instead of each by itself");
  if (!std::ranges::all_of(calls, [](const RowCall& c) { return std::ssize(c.got) == c.rows(c.rank); }))
    return causes_of_sizes(calls);
  const std::string must = ", instead of the tokens of the neighbours before it";
  const auto tell = [&](const Party& party, const Order& order) {
    return cause("a row becomes " + with_party(order.words, party.words) + must);
  };
  for (const Party& party : parties())
    if (follows(calls, party, orders()[0])) return tell(party, orders()[0]);
  for (const Order& order : orders())
    for (const Party& party : parties())
      if (follows(calls, party, order)) return tell(party, order);
  return {};
}

}  // namespace ringcraft::verify
