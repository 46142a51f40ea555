// Predict 401: the work of each rank, its order and its messages, on a few ranks with ragged shards. The
// library computes every answer when it is needed; the seed chooses the sizes.
#include <algorithm>

#include "judge/puzzle/puzzle_kinds.hpp"
#include "ringcraft/core/random.hpp"
#include "ringcraft/ring/theory.hpp"
#include "ringcraft/ring/work.hpp"

namespace ringcraft::judge {
namespace {

// Sizes that no number of ranks here divides.
struct Sizes {
  int ranks;
  Position tokens, window;
};

Sizes sizes_of(std::uint64_t seed) {
  Random random(seed);
  const int ranks = static_cast<int>(random.integer(3, 4));
  const Position chunks = 2 * ranks, rounds = ranks == 3 ? random.integer(1, 2) : 1;
  const Position tokens = chunks * rounds + random.integer(1, ranks - 1);
  return {ranks, tokens, random.integer(1, tokens / ranks + 1)};
}

Problem problem_of(const Sizes& sizes, Mask mask, Layout layout) {
  return make_problem({1, 4, 2, sizes.tokens, 8}, std::move(mask), layout, sizes.ranks);
}

std::string named(Layout layout) { return std::string(name_of(layout)); }

std::vector<int> sources(int rank, int ranks) {
  std::vector<int> blocks;
  for (int step = 0; step < ranks; ++step) blocks.push_back((rank - step + ranks) % ranks);
  return blocks;
}

void ask_about_contiguous(Sheet& sheet, const Sizes& sizes) {
  const Problem problem = problem_of(sizes, causal_mask(), Layout::kContiguous);
  const RingWork work = ring_work(problem);
  const std::string last = std::to_string(sizes.ranks - 1);
  sheet.say("Contiguous shards, causal mask. The block of which rank does rank 1 hold at steps 0 to " + last +
            "?");
  sheet.ask("blocks", "rank 1 holds the blocks of ranks", sources(1, sizes.ranks));
  sheet.gap();
  sheet.say("How many (query, key) pairs of one head do the ranks 0 to " + last + " compute?");
  for (std::size_t step = 0; step < work.pairs.size(); ++step)
    sheet.ask("pairs", "step " + std::to_string(step) + ", pairs:", work.pairs[step]);
  sheet.ask("totals", "all steps, pairs:", work.by_rank);
  sheet.ask("totals", "blocks that are skipped:", std::vector{work.skipped});
  sheet.gap();
  sheet.say("If all ranks wait for each other after every step, the ring takes as long as how many pairs?");
  sheet.ask("time", "synchronous cost, pairs:", std::vector{work.synchronous_cost});
  sheet.say("1 - mean / max of the totals, in percent, to one digit after the point.");
  sheet.ask("time", "imbalance, percent:", std::vector{100 * work.imbalance}, 0.1);
}

void ask_about_layouts(Sheet& sheet, const Sizes& sizes) {
  const std::string last = std::to_string(sizes.ranks - 1);
  sheet.say("Which tokens does each layout give to rank 1, in order?");
  for (const Layout layout : {Layout::kContiguous, Layout::kStriped, Layout::kZigzag})
    sheet.ask("tokens", named(layout) + ", tokens of rank 1:",
              problem_of(sizes, causal_mask(), layout).sharding().positions(1));
  sheet.gap();
  sheet.say("Causal mask, the pairs of ranks 0 to " + last + " over all steps.");
  for (const Layout layout : {Layout::kStriped, Layout::kZigzag})
    sheet.ask("layouts", named(layout) + ", all steps, pairs:",
              ring_work(problem_of(sizes, causal_mask(), layout)).by_rank);
}

void ask_about_messages(Sheet& sheet, const Sizes& sizes) {
  const Problem causal = problem_of(sizes, causal_mask(), Layout::kContiguous);
  sheet.say(
      "Contiguous shards, causal mask, 4 heads on 2 kv_heads of 8 numbers in float32. How many bytes of K "
      "and V");
  sheet.say("does each of the ranks 0 to " + std::to_string(sizes.ranks - 1) +
            " send in the whole forward pass, if each block stops where no rank further along needs it?");
  sheet.ask("bytes", "bytes:", forward_theory(causal, {4, 4}).bytes_sent);
  sheet.gap();
  sheet.say("How often does each KV block move on, under a causal mask, and with a window of " +
            std::to_string(sizes.window) + " (each query");
  sheet.say("sees itself and the " + std::to_string(sizes.window) + " before it)?");
  sheet.ask("hops", "causal, hops:", std::vector{hops(causal)});
  sheet.ask("hops", "window " + std::to_string(sizes.window) + ", hops:",
            std::vector{hops(problem_of(sizes, window_mask(sizes.window), Layout::kContiguous))});
}

std::vector<PuzzleRow> rows() {
  return {
      {"blocks",
       1,
       {},
       "The order in which the blocks arrive.",
       "The block that a rank holds came from the left: after one exchange, whose was it?",
       {}},
      {"pairs",
       3,
       {},
       "The pairs of every rank at every step.",
       "Draw the matrix of queries and keys, cut it where the shards end, and note that they differ in "
       "length.",
       {}},
      {"totals",
       2,
       {},
       "The pairs of every rank in all, and the blocks skipped.",
       "Token p sees p + 1 keys: add that up over the tokens of a rank, and compare with your columns.",
       {}},
      {"time",
       2,
       {},
       "The synchronous cost and the imbalance.",
       "A step takes as long as its slowest rank, and with ragged shards that is not always the same one.",
       {}},
      {"tokens",
       2,
       {},
       "The tokens that each layout gives to a rank.",
       "Chunks are cut so that the first ones are the longer ones; a rank of the zig-zag owns two of them.",
       {}},
      {"layouts",
       2,
       {},
       "The pairs of striped and zig-zag rings.",
       "No steps are needed here: token p sees p + 1 keys on every rank.",
       {}},
      {"bytes",
       2,
       {},
       "The bytes that every rank sends.",
       "Which blocks come to a rank, and which of them, or its own, does the next rank need?",
       {}},
      {"hops",
       1,
       {},
       "The hops of the blocks.",
       "A block travels until no rank needs it: what is the oldest key that the first token of a shard "
       "sees?",
       {}}};
}

Form form(std::uint64_t seed) {
  const Sizes sizes = sizes_of(seed);
  Sheet sheet;
  sheet.begin(RINGCRAFT_PUZZLE, seed);
  sheet.say("All questions: " + std::to_string(sizes.tokens) + " tokens on " + std::to_string(sizes.ranks) +
            " ranks. Ranks, steps and tokens count from 0.");
  sheet.gap();
  ask_about_contiguous(sheet, sizes);
  sheet.gap();
  ask_about_layouts(sheet, sizes);
  sheet.gap();
  ask_about_messages(sheet, sizes);
  return {sheet.lines(), rows()};
}

}  // namespace

template <>
Puzzle puzzle_of<RINGCRAFT_PUZZLE>() {
  return prediction(RINGCRAFT_PUZZLE, "How much each rank computes",
                    "fill in the numbers, by hand, before anything runs", form);
}

}  // namespace ringcraft::judge
