// Predict 405: keys, local ranges, pairs and hops of a packed row on three ranks. The seed chooses the
// sequences and a window; the library's own functions give every answer.
#include <algorithm>

#include "judge/puzzle/puzzle_kinds.hpp"
#include "ringcraft/core/random.hpp"
#include "ringcraft/ring/work.hpp"

namespace ringcraft::judge {
namespace {

constexpr int kBlockRanks = 3;

// Sequences that lie end to end; one of them has a single token, and the second passes a border of ranks.
struct PackedRow {
  std::vector<Position> borders;
  Position window;
};

PackedRow packed_row(std::uint64_t seed) {
  Random random(seed);
  const Position first = random.integer(2, 3), second = random.integer(5, 6), last = 12 - first - second;
  return {{0, first, first + second, first + second + 1, first + second + 1 + last + 2},
          random.integer(1, 3)};
}

Problem packed_problem(const PackedRow& row, Mask mask) {
  mask.cu_seqlens = row.borders;
  return make_problem({.seqlen = row.borders.back(), .head_dim = 16}, std::move(mask), Layout::kContiguous,
                      kBlockRanks);
}

void ask_about_keys(Sheet& sheet, const std::string& id, const Problem& p, std::vector<Position> positions) {
  MaskCursor cursor(p.mask, p.shape.seqlen);
  for (const Position position : positions) {
    const auto [lo, hi] = cursor.at(position);
    sheet.ask(id, "position " + std::to_string(position) + " sees from and up to, not including:",
              std::vector{lo, hi});
  }
}

void ask_about_ranges(Sheet& sheet, const Problem& p, int rank, int source) {
  const KeyRanges ranges = key_ranges(p, rank, source);
  for (int a = 0; a < ranges.rows(); ++a) {
    const auto row = static_cast<std::size_t>(a);
    if (ranges.begin[row] < ranges.end[row])  // an empty range may lie anywhere
      sheet.ask("ranges",
                "rank " + std::to_string(rank) + ", row " + std::to_string(a) + ", local keys of block " +
                    std::to_string(source) + " from and up to, not including:",
                std::vector{ranges.begin[row], ranges.end[row]});
  }
}

void ask_about_pairs(Sheet& sheet, const std::string& id, const Problem& p) {
  const RingWork work = ring_work(p);
  for (std::size_t t = 0; t < work.pairs.size(); ++t)
    sheet.ask(id, "step " + std::to_string(t) + ", pairs of ranks 0 to 2:", work.pairs[t]);
}

std::vector<PuzzleRow> block_rows() {
  return {
      {"keys", 2, {}, "The keys of some positions.", "Where does the sequence of this position begin?", {}},
      {"window",
       2,
       {},
       "The same with a window.",
       "W keys before the query and its own; the border may cut them short.",
       {}},
      {"ranges",
       3,
       {},
       "Ranges of local keys.",
       "Which position has local key 0, and how many keys of the block lie before lo?",
       {}},
      {"pairs", 3, {}, "Pairs at every step.", "Add up the lengths of the ranges of a rank and a block.", {}},
      {"travel",
       2,
       {},
       "Hops and bytes.",
       "The last step at which some rank has a pair: how many times has a block moved on by then?",
       {}}};
}

Form block_form(std::uint64_t seed) {
  const PackedRow row = packed_row(seed);
  const Problem causal = packed_problem(row, causal_mask()),
                window = packed_problem(row, window_mask(row.window)),
                full = packed_problem(row, full_mask());
  std::string borders;
  for (const Position border : row.borders) borders += " " + std::to_string(border);
  Sheet sheet;
  sheet.begin(RINGCRAFT_PUZZLE, seed);
  sheet.say("cu_seqlens is" + borders + ". Three ranks, contiguous shards of " +
            std::to_string(row.borders.back() / kBlockRanks) + " tokens.");
  sheet.gap();
  sheet.say("A causal mask.");
  ask_about_keys(sheet, "keys", causal,
                 {row.borders[1] - 1, row.borders[1] + 4, row.borders[2], row.borders[3]});
  sheet.gap();
  ask_about_ranges(sheet, causal, 1, 1);
  ask_about_ranges(sheet, causal, 1, 0);
  sheet.gap();
  sheet.say("The ring ends with the last step at which some rank has a pair.");
  ask_about_pairs(sheet, "pairs", causal);
  sheet.gap();
  sheet.say("K and V of a shard are one head of 16 numbers of 2 bytes for each token.");
  const Index bytes = causal.sharding().largest_rows() * 2 * 16 * 2;
  sheet.ask("travel",
            "hops, and bytes that a rank sends:", std::vector<Index>{hops(causal), hops(causal) * bytes});
  sheet.gap();
  sheet.say("A window of " + std::to_string(row.window) + ", causal.");
  ask_about_keys(sheet, "window", window, {row.borders[1], row.borders[1] + 1, row.borders[1] + 4});
  sheet.gap();
  sheet.say("No limit on either side: packed, and nothing else.");
  ask_about_keys(sheet, "keys", full, {0, row.borders[2], row.borders[3]});
  sheet.ask("travel", "hops:", std::vector{hops(full)});
  return {sheet.lines(), block_rows()};
}

}  // namespace

template <>
Puzzle puzzle_of<RINGCRAFT_PUZZLE>() {
  return prediction(RINGCRAFT_PUZZLE, "Sequences across ranks", "say what each row of a packed ring sees",
                    block_form);
}

}  // namespace ringcraft::judge
