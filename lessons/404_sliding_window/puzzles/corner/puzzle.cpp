// Predict 404: one rank of a windowed ring with a kernel that knows no positions. Its reach, its blocks and
// their calls by hand, and the damage of a corner that is not sliced. The library computes every answer.
#include "judge/puzzle/puzzle_kinds.hpp"
#include "ringcraft/core/random.hpp"
#include "ringcraft/problem/reach.hpp"
#include "ringcraft/problem/window_calls.hpp"

namespace ringcraft::judge {
namespace {

// A window that ends inside of a shard, and a ring that has all four patterns.
struct WindowSizes {
  int ranks;
  Index rows;
  Position window;

  Problem problem(Position of_window) const {
    return make_problem({1, 1, 1, ranks * rows, 1}, window_mask(of_window), Layout::kContiguous, ranks);
  }
  Problem problem() const { return problem(window); }
  int rank() const { return ranks - 1; }
  Chunk shard(int of) const { return nth_chunk(ranks * rows, ranks, of); }
};

WindowSizes window_sizes(std::uint64_t seed) {
  Random random(seed);
  const Index rows = random.integer(5, 7);
  const int whole = static_cast<int>(random.integer(2, 3));  // shards that the window reaches over
  return {whole + 3, rows, whole * rows + random.integer(2, rows - 2)};
}

std::string step_of(int step, const WindowSizes& s) {
  return "step " + std::to_string(step) + ", block " + std::to_string(s.rank() - step);
}

// The pairs of the whole block that one call computes in this local row, or in all.
Index pairs_of(const WindowCall& call, const WindowSizes& s, Index first, Index last) {
  Index pairs = 0;
  for (Index row = first; row < last; ++row)
    for (Index key = 0; key < s.rows; ++key) pairs += call.computes(row, key) ? 1 : 0;
  return pairs;
}

// The largest window with which so many hops are enough.
Position largest_window(const WindowSizes& s, int enough) {
  Position window = 0;
  while (hops(s.problem(window + 1)) <= enough) ++window;
  return window;
}

void ask_for_reach(Sheet& sheet, const WindowSizes& s) {
  const int c = hops(s.problem());
  sheet.say("How far is each block needed, from block 0 on? And how many hops does the ring need?");
  sheet.ask("reach", "reach:", reaches(s.problem()));
  sheet.ask("reach", "hops:", std::vector{c});
  sheet.gap();
  sheet.say(
      "The largest window with which one hop less is enough, as keys before the query; and the same for a");
  sheet.say("library that counts the query's own key as one of its window.");
  const Position largest = largest_window(s, c - 1);
  sheet.ask("convention", "keys before the query:", std::vector{largest});
  sheet.ask("convention", "keys with its own:", std::vector{largest + 1});
}

void ask_for_calls(Sheet& sheet, const WindowSizes& s) {
  const int c = hops(s.problem());
  sheet.say("The pairs that the rank computes at steps 0 to " + std::to_string(c) + ".");
  std::vector<Index> pairs;
  for (int step = 0; step <= c; ++step)
    pairs.push_back(key_ranges(s.problem(), s.rank(), s.rank() - step).pairs());
  sheet.ask("pairs", "pairs:", pairs);
  sheet.gap();
  sheet.say(
      "The calls of the last two steps: slices of rows and of keys, first and one past the last, as small "
      "as");
  sheet.say("can be, and the left limit. The right one is -1.");
  for (int step = c - 1; step <= c; ++step) {
    const WindowCall call = window_calls(s.shard(s.rank()), s.shard(s.rank() - step), s.window).back();
    std::vector<Blank> blanks;
    for (const Index number : {call.rows.begin, call.rows.end, call.keys.begin, call.keys.end, call.left})
      blanks.push_back({static_cast<double>(number)});
    sheet.line("calls", step_of(step, s) + ": rows ___ ___ keys ___ ___ left ___", std::move(blanks));
  }
}

void ask_for_damage(Sheet& sheet, const WindowSizes& s) {
  const int c = hops(s.problem());
  const WindowCall whole{{0, s.rows}, {0, s.rows}, 0, -1};
  const KeyRanges right = key_ranges(s.problem(), s.rank(), s.rank() - c);
  sheet.say(
      "Instead, the last step passes the whole block with window_size=(0, -1). How many pairs does that "
      "call");
  sheet.say("compute, and how many of them must not be seen?");
  const Index pairs = pairs_of(whole, s, 0, s.rows);
  sheet.ask("unsliced", "computed:", std::vector{pairs});
  sheet.ask("unsliced", "too many:", std::vector{pairs - right.pairs()});
  sheet.gap();
  sheet.say("With scores of 0 each key weighs 1, and l is the number of keys. The l of local rows 0 and " +
            std::to_string(s.rows - 1) + " at the");
  sheet.say("end, with the right call and with the wrong one.");
  std::vector<Index> good, bad;
  for (const Index row : {Index{0}, s.rows - 1}) {
    good.push_back(s.window + 1);
    bad.push_back(s.window + 1 - right.slice(row, 1).pairs() + pairs_of(whole, s, row, row + 1));
  }
  sheet.ask("sums", "right:", good);
  sheet.ask("sums", "wrong:", bad);
}

std::vector<PuzzleRow> corner_rows() {
  return {{"reach",
           2,
           {},
           "The reach of every block, and the hops.",
           "Which shard holds the key that the first query of a rank sees first?",
           {}},
          {"convention",
           1,
           {},
           "The largest window for one hop less, in both conventions.",
           "For which window is the first key that a rank sees the first one of a shard?",
           {}},
          {"pairs",
           2,
           {},
           "The pairs of every step.",
           "A row sees W + 1 keys in all: how many of them are left for each block?",
           {}},
          {"calls",
           3,
           {},
           "The slices and the left limits of the cut and of the corner.",
           "In the last block, which rows see anything, and which keys are seen at all?",
           {}},
          {"unsliced",
           2,
           {},
           "The pairs of a corner that is not sliced.",
           "With as many rows as keys, row i of the call sees the keys from i on.",
           {}},
          {"sums",
           1,
           {},
           "The sums of two rows, with the right call and with the wrong one.",
           "How many keys of the last block does each row take, and how many should it take?",
           {}}};
}

Form corner_form(std::uint64_t seed) {
  const WindowSizes s = window_sizes(seed);
  Sheet sheet;
  sheet.begin(RINGCRAFT_PUZZLE, seed);
  sheet.say("A window of " + std::to_string(s.window) +
            " (so many keys before the query, and its own) over " + std::to_string(s.ranks) + " ranks of " +
            std::to_string(s.rows) + " tokens,");
  sheet.say("contiguous. You are rank " + std::to_string(s.rank()) +
            ", the last one. Everything counts from 0.");
  sheet.gap();
  ask_for_reach(sheet, s);
  sheet.gap();
  ask_for_calls(sheet, s);
  sheet.gap();
  ask_for_damage(sheet, s);
  return {sheet.lines(), corner_rows()};
}

}  // namespace

template <>
Puzzle puzzle_of<RINGCRAFT_PUZZLE>() {
  return prediction(RINGCRAFT_PUZZLE, "The unsliced corner",
                    "call a kernel that knows no positions for every block of a window", corner_form);
}

}  // namespace ringcraft::judge
