// Predict 403: a zig-zag ring with a kernel that knows no mask. The calls for each step, what they compute,
// and the attention that comes out, by hand. The seed chooses the sizes; the library computes every answer.
#include <algorithm>
#include <cmath>

#include "judge/puzzle/puzzle_kinds.hpp"
#include "ringcraft/attention/blockwise.hpp"
#include "ringcraft/core/random.hpp"
#include "ringcraft/problem/deal.hpp"
#include "ringcraft/problem/problem.hpp"

namespace ringcraft::judge {
namespace {

// A rank that meets earlier blocks and later ones, in a ring whose chunks differ in length.
struct Sizes {
  int ranks, rank;
  Position tokens;
};

Sizes sizes_of(std::uint64_t seed) {
  Random random(seed);
  const int ranks = static_cast<int>(random.integer(3, 4));
  const int rank = static_cast<int>(random.integer(1, ranks - 2));
  const Position longer = random.integer(1, 2 * ranks - 1);
  return {ranks, rank, 2 * ranks * random.integer(1, 2) + longer};
}

// The rows and keys of a block that one call computes, [first, last).
struct Part {
  Index first_row, last_row, first_key, last_key;

  Index pairs() const { return (last_row - first_row) * (last_key - first_key); }
};

// The smallest rectangle around the visible pairs of a block that has some.
Part part_of(const KeyRanges& ranges) {
  Part part{ranges.rows(), 0, ranges.end.back(), 0};
  for (int row = 0; row < ranges.rows(); ++row) {
    const auto a = static_cast<std::size_t>(row);
    if (ranges.begin[a] == ranges.end[a]) continue;
    part.first_row = std::min<Index>(part.first_row, row), part.last_row = row + 1;
    part.first_key = std::min<Index>(part.first_key, ranges.begin[a]);
    part.last_key = std::max<Index>(part.last_key, ranges.end[a]);
  }
  return part;
}

// The state of a shard's rows, where every score is 0 and the value of a token is its position.
class Rows {
 public:
  explicit Rows(Index rows)
      : q_(static_cast<std::size_t>(rows), 0.0), out_(q_), max_(q_), sum_(q_), rows_(rows) {
    set_identity(partial());
  }

  void attend(const std::vector<Position>& keys, const KeyRanges& ranges) {
    const auto count = static_cast<Index>(keys.size());
    std::vector<double> k(keys.size(), 0.0), v(keys.begin(), keys.end());
    blockwise_forward<double>({q_, rows_, 1}, {k, count, 1}, {v, count, 1}, ranges, 1.0, partial());
  }
  // The normalised result of a row: a mean of values.
  double out(Index row) const { return out_[static_cast<std::size_t>(row)] / sum(row); }
  double sum(Index row) const { return sum_[static_cast<std::size_t>(row)]; }

 private:
  Partial<double> partial() { return {{out_, rows_, 1}, max_, sum_}; }

  std::vector<double> q_, out_, max_, sum_;
  Index rows_;
};

std::string step_of(int step, int source) {
  return "step " + std::to_string(step) + ", block " + std::to_string(source);
}

void ask_for_calls(Sheet& sheet, const Problem& problem, int rank) {
  const int n = problem.world_size;
  const auto [early, late] = zigzag_chunks(problem.shape.seqlen, n, rank);
  sheet.say("The chunks of rank " + std::to_string(rank) + ": first position, and one past the last.");
  sheet.ask("chunks", "early:", std::vector{early.begin, early.end});
  sheet.ask("chunks", "late:", std::vector{late.begin, late.end});
  sheet.gap();
  sheet.say(
      "One call per step, slices of local rows and of local keys: first, and one past the last. Step 0 is");
  sheet.say("a causal call over the whole shard. All other calls have no mask.");
  std::vector<Index> computed;
  Index whole = 0;
  for (int step = 0; step < n; ++step) {
    const int source = (rank - step + n) % n;
    const KeyRanges ranges = key_ranges(problem, rank, source);
    const Part part = part_of(ranges);
    if (step > 0)
      sheet.line("calls", step_of(step, source) + ": rows ___ ___ keys ___ ___",
                 {{static_cast<double>(part.first_row)},
                  {static_cast<double>(part.last_row)},
                  {static_cast<double>(part.first_key)},
                  {static_cast<double>(part.last_key)}});
    computed.push_back(step == 0 ? ranges.pairs() : part.pairs());
    if (step > 0) whole += ranges.rows() * problem.sharding().rows(source);
  }
  sheet.gap();
  sheet.say(
      "How many pairs does the rank compute at each step, the triangle of step 0 counted exactly? And how");
  sheet.say("many from step 1 on, if it gives whole blocks to the kernel and masks what it may not see?");
  sheet.ask("pairs", "pairs at steps 0 to " + std::to_string(n - 1) + ":", computed);
  sheet.ask("pairs", "whole blocks, from step 1 on:", std::vector{whole});
}

void ask_for_rows(Sheet& sheet, const Problem& problem, int rank) {
  const int n = problem.world_size;
  const Sharding sharding = problem.sharding();
  const Index late = zigzag_chunks(problem.shape.seqlen, n, rank).early.rows();
  Rows rows(sharding.rows(rank));
  sheet.say(
      "Now compute. All scores are 0, so each key that a row sees weighs 1, and the value of token p is p.");
  sheet.say(
      "l (the sum of weights) and out = O / l of two rows after each step, to three digits: local row 0, "
      "and");
  sheet.say("local row " + std::to_string(late) + ", the first one of the late chunk.");
  for (int step = 0; step < n; ++step) {
    const int source = (rank - step + n) % n;
    rows.attend(sharding.positions(source), key_ranges(problem, rank, source));
    for (const Index row : {Index{0}, late})
      sheet.line("attend",
                 "after step " + std::to_string(step) + ", row " + std::to_string(row) + ": l ___ out ___",
                 {{rows.sum(row)}, {rows.out(row), 6e-3 * std::max(1.0, rows.out(row))}});
  }
  sheet.gap();
  sheet.say("The kernel hands back out and lse of each call. Of row " + std::to_string(late) +
            ": lse at the end, and the");
  sheet.say("weight exp(lse of step 0 - lse at the end) with which the out of step 0 enters the result.");
  Rows first(sharding.rows(rank));
  first.attend(sharding.positions(rank), key_ranges(problem, rank, rank));
  sheet.line("merge", "lse ___ weight of step 0 ___",
             {{std::log(rows.sum(late)), 6e-3}, {first.sum(late) / rows.sum(late), 6e-3}});
}

std::vector<PuzzleRow> rows() {
  return {
      {"chunks",
       1,
       {},
       "The two chunks of the rank.",
       "2N chunks, the first ones a token longer: which two numbers add up to 2N - 1?",
       {}},
      {"calls",
       3,
       {},
       "The slices of rows and keys of every step.",
       "A block of an earlier rank: which of its two chunks lies before all of your rows? A block of a "
       "later one: which of your rows come after all of its keys?",
       {}},
      {"pairs",
       1,
       {},
       "The pairs that are computed, and those of whole blocks.",
       "A call without a mask computes rows times keys; the triangle of n rows has n (n + 1) / 2 pairs.",
       {}},
      {"attend",
       3,
       {},
       "The state of two rows after every step.",
       "The mean of all values seen so far: which keys does the slice of this step add, if the row is in it?",
       {}},
      {"merge",
       1,
       {},
       "lse, and the weight of one result in the merge.",
       "With scores of 0, exp(lse) is the number of keys.",
       {}}};
}

Form form(std::uint64_t seed) {
  const Sizes sizes = sizes_of(seed);
  const Problem problem =
      make_problem({1, 1, 1, sizes.tokens, 1}, causal_mask(), Layout::kZigzag, sizes.ranks);
  Sheet sheet;
  sheet.begin(RINGCRAFT_PUZZLE, seed);
  sheet.say("Chunk zig-zag, causal mask: " + std::to_string(sizes.tokens) + " tokens on " +
            std::to_string(sizes.ranks) + " ranks. You are rank " + std::to_string(sizes.rank) +
            ". Everything counts from 0.");
  sheet.gap();
  ask_for_calls(sheet, problem, sizes.rank);
  sheet.gap();
  ask_for_rows(sheet, problem, sizes.rank);
  return {sheet.lines(), rows()};
}

}  // namespace

template <>
Puzzle puzzle_of<RINGCRAFT_PUZZLE>() {
  return prediction(RINGCRAFT_PUZZLE, "Half blocks, no mask",
                    "call a kernel that knows no mask, and compute two rows by hand", form);
}

}  // namespace ringcraft::judge
