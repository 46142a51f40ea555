// Predict 502: heads, rows and bytes of an all-to-all on four ranks. The seed chooses heads, layout and
// length; the library's own functions give every answer.
#include "judge/puzzle/puzzle_kinds.hpp"
#include "ringcraft/core/error.hpp"
#include "ringcraft/core/random.hpp"
#include "ringcraft/parallel/hybrid/dealt_heads.hpp"
#include "ringcraft/parallel/method.hpp"

namespace ringcraft::judge {
namespace {

constexpr int kParcelRanks = 4;

// A model's heads, and a sequence.
struct ParcelCase {
  Index group;  // query heads of one KV head, where there are fewer KV heads than ranks
  Layout layout;
  Position rows;  // of each rank, where all are equal
};

ParcelCase parcel_case(std::uint64_t seed) {
  Random random(seed);
  return {2 * random.integer(2, 4), random.integer(0, 1) == 0 ? Layout::kZigzag : Layout::kZigzagToken,
          2 * random.integer(2, 3)};
}

Problem parcel_problem(const ParcelCase& c, Index kv_heads, Position seqlen) {
  return make_problem({1, 2 * c.group, kv_heads, seqlen, 16}, full_mask(), c.layout, kParcelRanks);
}

void ask_about_heads(Sheet& sheet, const Problem& p, int member) {
  const auto [query, kv] = dealt_heads(p.shape, kParcelRanks, member);
  sheet.ask("heads",
            "rank " + std::to_string(member) + ", first query head and how many, first KV head and how many:",
            std::vector{query.first, query.count, kv.first, kv.count});
}

void ask_about_rows(Sheet& sheet, const std::string& id, const Problem& p, int degree, int rank) {
  sheet.ask(id, "rank " + std::to_string(rank) + ", rows:", joined_rows(p.sharding(), degree, rank));
}

void ask_about_bytes(Sheet& sheet, const Problem& p) {
  const Theory ring = kRing.theory(p, {}, Pass::kForward, {2, 4}),
               own = kUlysses.theory(p, {}, Pass::kForward, {2, 4});
  sheet.ask("bytes", "ring, bytes that a rank sends:", std::vector{ring.bytes_sent[0]});
  sheet.ask("bytes", "Ulysses, bytes that a rank sends:", std::vector{own.bytes_sent[0]});
}

Index is_dealt(Index heads, Index kv_heads, int ranks) {
  try {
    refuse(kUlysses, make_problem({1, heads, kv_heads, 64, 16}, full_mask(), Layout::kContiguous, ranks), {});
    return 1;
  } catch (const Error&) {
    return 0;
  }
}

std::vector<PuzzleRow> parcel_rows() {
  return {{"heads",
           3,
           {},
           "The heads of two ranks.",
           "Which KV head does the first query head of the run share?",
           {}},
          {"rows",
           3,
           {},
           "Rows among four neighbours.",
           "How many tokens lie before this one in the sequence?",
           {}},
          {"pairs-of-ranks",
           3,
           {},
           "Rows among two neighbours.",
           "Cross out the tokens of ranks that are no neighbours, and number those that are left.",
           {}},
          {"bytes",
           3,
           {},
           "Bytes of a ring, and of the two all-to-alls.",
           "Which part of q does a rank keep, and how many KV heads leave it in all?",
           {}},
          {"dealt",
           2,
           {},
           "Numbers of ranks that can deal the heads.",
           "Does a run end where a group ends?",
           {}}};
}

Form parcel_form(std::uint64_t seed) {
  const ParcelCase c = parcel_case(seed);
  const Index heads = 2 * c.group;
  const Problem few = parcel_problem(c, 2, kParcelRanks * c.rows),
                many = parcel_problem(c, heads, kParcelRanks * c.rows),
                ragged = parcel_problem(c, heads, kParcelRanks * c.rows - 3);
  Sheet sheet;
  sheet.begin(RINGCRAFT_PUZZLE, seed);
  sheet.say("Ulysses on four ranks, " + std::to_string(heads) + " query heads and 2 KV heads.");
  for (const int member : {1, 2}) ask_about_heads(sheet, few, member);
  sheet.gap();
  sheet.say("Layout " + std::string(name_of(c.layout)) + ", " + std::to_string(few.shape.seqlen) +
            " tokens, all four ranks are neighbours.");
  ask_about_rows(sheet, "rows", few, 4, 1);
  sheet.gap();
  sheet.say("The same tokens in rows of two neighbours.");
  ask_about_rows(sheet, "pairs-of-ranks", few, 2, 2);
  sheet.say("In rows of two neighbours, too, but " + std::to_string(ragged.shape.seqlen) + " tokens.");
  ask_about_rows(sheet, "pairs-of-ranks", ragged, 2, 1);
  sheet.gap();
  sheet.say("Forward, no mask, " + std::to_string(c.rows) +
            " rows on each rank, 16 numbers per head; q, k and v have 2 bytes per number, out and lse 4.");
  sheet.say("As many KV heads as query heads, " + std::to_string(heads) + ".");
  ask_about_bytes(sheet, many);
  sheet.say("2 KV heads.");
  ask_about_bytes(sheet, few);
  sheet.gap();
  sheet.say("12 query heads and 6 KV heads: 1 if so many ranks can deal them, otherwise 0.");
  for (const int ranks : {2, 4, 5, 6, 12})
    sheet.ask("dealt", std::to_string(ranks) + " ranks:", std::vector{is_dealt(12, 6, ranks)});
  return {sheet.lines(), parcel_rows()};
}

}  // namespace

template <>
Puzzle puzzle_of<RINGCRAFT_PUZZLE>() {
  return prediction(RINGCRAFT_PUZZLE, "Parcels of heads",
                    "say which heads, rows and bytes an all-to-all moves", parcel_form);
}

}  // namespace ringcraft::judge
