// Lesson 404: checks of the reach of KV blocks. The answers come from closed forms where the lesson has them,
// and from all pairs of tokens, one by one, with the oracle's mask predicate, where it has none. Then real
// rings go as far as the function says.
#include <algorithm>
#include <cmath>

#include "exercise.hpp"
#include "judge/checks/lesson.hpp"
#include "judge/checks/ring_trial.hpp"
#include "ringcraft/core/random.hpp"
#include "ringcraft/core/shown.hpp"
#include "verify/oracle/oracle.hpp"

namespace ringcraft::judge {
namespace {

using Reach = std::vector<int>;  // [block]

// ---- the answers

// The owners of all tokens, and the visible pairs.
class Counted {
 public:
  explicit Counted(const Problem& problem) : problem_(problem) {
    for (int rank = 0; rank < problem.world_size; ++rank)
      positions_.push_back(problem.sharding().positions(rank));
  }

  // A visible pair of a query of `rank` and a key of `source`, {-1, -1} if there is none.
  std::pair<Position, Position> pair(int rank, int source) const {
    for (const Position q : positions_[rank])
      for (const Position k : positions_[source])
        if (verify::visible(problem_.mask, q, k)) return {q, k};
    return {-1, -1};
  }
  bool sees(int rank, int source) const { return pair(rank, source).first >= 0; }
  // The largest distance at which the block of `source` is seen.
  int reach(int source) const {
    int t = problem_.world_size - 1;
    while (t > 0 && !sees((source + t) % problem_.world_size, source)) --t;
    return t;
  }

 private:
  const Problem& problem_;
  std::vector<std::vector<Position>> positions_;
};

Reach counted(const Problem& problem) {
  const Counted pairs(problem);
  Reach reach;
  for (int source = 0; source < problem.world_size; ++source) reach.push_back(pairs.reach(source));
  return reach;
}

// A window of `window` keys before each query over contiguous shards of `rows` tokens: ceil(W / M) ranks
// further on, where the ring has so many.
Reach of_window(Position window, Position rows, int ranks) {
  Reach reach;
  for (int source = 0; source < ranks; ++source)
    reach.push_back(static_cast<int>(std::min<Position>((window + rows - 1) / rows, ranks - 1 - source)));
  return reach;
}

// ---- the comparison

std::string name_of_problem(const Problem& p) {
  return "n=" + std::to_string(p.world_size) + " " + described(p.sharding()) + " " + described(p.mask) +
         " s=" + std::to_string(p.shape.seqlen);
}

void compare(const Problem& problem, const Reach& got, const Reach& want) {
  const std::string label = name_of_problem(problem) + ": ";
  const int n = problem.world_size;
  if (got.size() != want.size())
    throw Wrong(sign::kValues, "entries", "{} numbers, and there are {} blocks", got.size(), want.size())
        .labelled(label);
  for (int s = 0; s < n; ++s) {
    if (got[s] == want[s]) continue;
    if (got[s] < 0 || got[s] >= n)
      throw Wrong(sign::kValues, "no-distance", "the reach of block {} is {}, and a ring of {} has 0 to {}",
                  s, got[s], n, n - 1)
          .labelled(label);
    if (got[s] > want[s])
      throw Wrong(sign::kValues, "too-far", "the reach of block {} is {}, but rank {} sees none of its keys",
                  s, got[s], (s + got[s]) % n)
          .labelled(label);
    const int rank = (s + want[s]) % n;
    if (problem.shape.seqlen > 1000)
      throw Wrong(sign::kValues, "too-short", "the reach of block {} is {}, and rank {} sees keys of it", s,
                  got[s], rank)
          .labelled(label);
    const auto [q, k] = Counted(problem).pair(rank, s);
    throw Wrong(sign::kValues, "too-short",
                "the reach of block {} is {}, but token {} of rank {}, {} further on, sees its token {}", s,
                got[s], q, rank, Shown{static_cast<double>(want[s]), ringcraft::counted(want[s], "rank")}, k)
        .labelled(label);
  }
}

std::int64_t require(Trial& trial, const Problem& problem, const Reach& want) {
  const auto answer = trial.call<Reaches>(problem);
  compare(problem, answer.result.reaches, want);
  if (answer.changed != 0)
    throw Wrong(sign::kInput, "argument-changed",
                "{}: your function changed the problem, which it may only read", name_of_problem(problem));
  return answer.result.steps;
}

void require(Trial& trial, const Problem& problem) { require(trial, problem, counted(problem)); }

// ---- problems

Problem make(Layout layout, Mask mask, Position seqlen, int ranks, bool per_sequence = false) {
  Problem problem = make_problem({.seqlen = seqlen, .head_dim = 1}, std::move(mask), layout, ranks);
  problem.per_sequence = per_sequence;
  return problem;
}

Problem windowed(Position window, Position rows, int ranks) {
  return make(Layout::kContiguous, window_mask(window), rows * ranks, ranks);
}

Mask packed(Mask mask, std::vector<Position> borders) {
  mask.cu_seqlens = std::move(borders);
  return mask;
}

void require_windows(Trial& trial, Position window, Position rows, int ranks) {
  require(trial, windowed(window, rows, ranks), of_window(window, rows, ranks));
}

// Cuts a sequence into a few of random lengths.
std::vector<Position> random_borders(Random& random, Position seqlen) {
  std::vector<Position> borders{0, seqlen};
  for (Index more = random.integer(0, 4); more > 0; --more) borders.push_back(random.integer(0, seqlen));
  std::ranges::sort(borders);
  borders.erase(std::unique(borders.begin(), borders.end()), borders.end());
  return borders;
}

// More problems that the seed chooses, so that no table of answers passes; the corpus has the fixed ones
// alone.
template <class Ask>
void ask_others(const Trial& trial, Ask ask) {
  if (trial.inputs_are_known()) return;
  Random random(trial.seed());
  ask(random);
}

// A window that ends `further` keys past a whole number of shards, over shards and ranks of other sizes.
void require_other_window(Trial& trial, Random& random, Position further) {
  const Position rows = random.integer(20, 90);
  require_windows(trial, random.integer(0, 4) * rows + further, rows,
                  static_cast<int>(random.integer(9, 20)));
}

// A problem of another size in this layout, ragged or not; `borders`: packed.
void require_other(Trial& trial, Random& random, Layout layout, Mask mask, bool borders = false,
                   bool per_sequence = false) {
  const Position seqlen = random.integer(50, 120);
  if (borders) mask.cu_seqlens = random_borders(random, seqlen);
  require(trial, make(layout, std::move(mask), seqlen, static_cast<int>(random.integer(3, 9)),
                      per_sequence && borders));
}

// ---- the checks

const Check kOneRank{
    .claim = "One rank: its block is needed nowhere else.",
    .id = "one-rank",
    .weight = 1,
    .hint = "The owner of a block holds it already: which distance is that?",
    .run{[](Trial& trial) {
      for (const Mask& mask : {full_mask(), causal_mask(), window_mask(2)})
        require(trial, make(Layout::kContiguous, mask, 5, 1), {0});
      ask_others(trial, [&](Random& random) {
        require(trial,
                make(Layout::kContiguous, window_mask(random.integer(1, 9)), random.integer(20, 99), 1), {0});
      });
    }},
};

const Check kFull{
    .claim = "Full attention: every block is needed by all, N - 1 ranks further on.",
    .id = "full",
    .weight = 1,
    .hint = "A limit may be kNoLimit, the largest number: what becomes of a position to which you add it?",
    .run{[](Trial& trial) {
      for (const int ranks : {2, 3, 5, 8})
        for (const Layout layout : kLayouts)
          require(trial, make(layout, full_mask(), 3 * ranks, ranks), Reach(ranks, ranks - 1));
      ask_others(trial, [&](Random& random) {
        const int ranks = static_cast<int>(random.integer(9, 40));
        require(trial, make(Layout::kContiguous, full_mask(), 2 * ranks, ranks), Reach(ranks, ranks - 1));
      });
    }},
};

const Check kCausal{
    .claim = "Causal, contiguous: block s is needed by the ranks after s, so N - 1 - s ranks further on.",
    .id = "causal",
    .weight = 2,
    .hint = "Which rank is t further on than the last one, and does it see anything of the last block?",
    .run{[](Trial& trial) {
      for (const int ranks : {2, 3, 4, 7})
        require(trial, make(Layout::kContiguous, causal_mask(), 4 * ranks, ranks),
                of_window(4 * ranks, 4, ranks));
      ask_others(trial, [&](Random& random) {
        const int ranks = static_cast<int>(random.integer(9, 40));
        require(trial, make(Layout::kContiguous, causal_mask(), 5 * ranks, ranks),
                of_window(5 * ranks, 5, ranks));
      });
    }},
};

const Check kWhole{
    .claim = "Windows that are multiples of a shard: W / M ranks further on, or to the last rank.",
    .id = "whole-shards",
    .weight = 2,
    .needs = {"causal"},
    .hint = "With W = M, which is the first key that the first query of a rank sees, and who owns it?",
    .run{[](Trial& trial) {
      for (const Position shards : {0, 1, 2, 3}) require_windows(trial, 4 * shards, 4, 6);
      ask_others(trial, [&](Random& random) { require_other_window(trial, random, 0); });
    }},
};

const Check kPart{
    .claim = "Windows that are no multiple of a shard: one rank further for the rest.",
    .id = "part-of-a-shard",
    .weight = 3,
    .needs = {"causal"},
    .hint = "A window that ends in the middle of a shard still needs that shard.",
    .run{[](Trial& trial) {
      for (const Position window : {2, 3, 6, 7, 10, 11}) require_windows(trial, window, 4, 5);
      ask_others(trial, [&](Random& random) { require_other_window(trial, random, random.integer(2, 19)); });
    }},
};

const Check kOneKey{
    .claim =
        "A window of W shows the query and W keys before it: W = M + 1 needs one more block for one pair.",
    .id = "one-pair",
    .weight = 3,
    .needs = {"causal"},
    .hint = "Count the keys of a late row: W, or W + 1?",
    .run{[](Trial& trial) {
      for (const Position window : {1, 5, 9, 13}) require_windows(trial, window, 4, 5);
      ask_others(trial, [&](Random& random) { require_other_window(trial, random, 1); });
    }},
};

const Check kAnyWindow{
    .claim = "Every window over 1 to 6 ranks: min(ceil(W / M), N - 1 - s).",
    .id = "any-window",
    .weight = 2,
    .needs = {"whole-shards", "part-of-a-shard", "one-pair"},
    .hint = "Does your function depend on a number of ranks or of rows that is not in the problem?",
    .run{[](Trial& trial) {
      for (int ranks = 1; ranks <= 6; ++ranks)
        for (const Position rows : {1, 3})
          for (Position window = 0; window <= rows * ranks + 1; ++window)
            require_windows(trial, window, rows, ranks);
      ask_others(trial, [&](Random& random) {
        const int ranks = static_cast<int>(random.integer(9, 30));
        const Position rows = random.integer(50, 200);
        for (int times = 0; times < 4; ++times)
          require_windows(trial, random.integer(0, rows * ranks), rows, ranks);
      });
    }},
};

const Check kZigzag{
    .claim = "Chunk zig-zag: neighbouring chunks lie on neighbouring ranks, in both directions.",
    .id = "zigzag",
    .weight = 2,
    .needs = {"causal"},
    .hint = "Rank r's late chunk follows the one of rank r + 1: which way round the ring is that?",
    .run{[](Trial& trial) {
      require(trial, make(Layout::kZigzag, window_mask(8), 128, 8), {1, 7, 7, 7, 7, 7, 7, 7});
      for (const int ranks : {2, 3, 5})
        for (const Position window : {0, 1, 4, 9})
          require(trial, make(Layout::kZigzag, window_mask(window), 8 * ranks, ranks));
      ask_others(trial, [&](Random& random) {
        require_other(trial, random, Layout::kZigzag, window_mask(random.integer(1, 20)));
      });
    }},
};

const Check kTokens{
    .claim = "Layouts of single tokens: ask the positions, not the numbers of the ranks.",
    .id = "token-layouts",
    .weight = 2,
    .needs = {"causal"},
    .hint = "The next token lies on the next rank, and after the last one on rank 0.",
    .run{[](Trial& trial) {
      for (const Layout layout : {Layout::kStriped, Layout::kZigzagToken})
        for (const int ranks : {3, 4, 7})
          for (const Mask& mask :
               {window_mask(0), window_mask(1), window_mask(2), window_mask(ranks), causal_mask()})
            require(trial, make(layout, mask, 4 * ranks, ranks));
      ask_others(trial, [&](Random& random) {
        for (const Layout layout : {Layout::kStriped, Layout::kZigzagToken})
          require_other(trial, random, layout, window_mask(random.integer(1, 4)));
      });
    }},
};

const Check kRagged{
    .claim = "Lengths that the ranks do not divide.",
    .id = "ragged",
    .weight = 2,
    .needs = {"causal"},
    .hint = "Shards differ by one token: is there one M in your function for all of them?",
    .run{[](Trial& trial) {
      for (const Layout layout : kLayouts)
        for (const Position seqlen : {13, 17, 22})
          for (const Position window : {2, 3, 4, 5, 6, 8, 9})
            require(trial, make(layout, window_mask(window), seqlen, 5));
      ask_others(trial, [&](Random& random) {
        for (const Layout layout : kLayouts)
          require_other(trial, random, layout, window_mask(random.integer(3, 40)));
      });
    }},
};

const Check kEmptyShards{
    .claim =
        "More ranks than tokens: a block without keys is needed nowhere, and a rank without rows sees none.",
    .id = "empty-shards",
    .weight = 1,
    .needs = {"causal"},
    .hint = "An empty list has no first element.",
    .run{[](Trial& trial) {
      for (const Layout layout : kLayouts)
        for (const Mask& mask : {full_mask(), causal_mask(), window_mask(1)}) {
          require(trial, make(layout, mask, 3, 5));
          require(trial, make(layout, mask, 1, 4));
        }
      ask_others(trial, [&](Random& random) {
        for (const Mask& mask : {full_mask(), causal_mask()})
          require(trial, make(Layout::kContiguous, mask, random.integer(4, 9),
                              static_cast<int>(random.integer(10, 30))));
      });
    }},
};

const Check kRight{
    .claim = "Windows to both sides, and to the right alone.",
    .id = "right-side",
    .weight = 2,
    .needs = {"causal"},
    .hint = "Blocks move to the next rank: how far is it from rank s to rank s - 1?",
    .run{[](Trial& trial) {
      for (const Position left : {Position{0}, Position{3}, Position{6}, kNoLimit})
        for (const Position right : {Position{0}, Position{1}, Position{5}, kNoLimit})
          for (const Layout layout : kLayouts)
            require(trial, make(layout, {.left = left, .right = right}, 21, 5));
      ask_others(trial, [&](Random& random) {
        for (const Layout layout : kLayouts)
          require_other(trial, random, layout,
                        {.left = random.integer(0, 30), .right = random.integer(1, 30)});
      });
    }},
};

const Check kPacked{
    .claim = "Packed sequences: a block is needed only where its sequences go on.",
    .id = "packed",
    .weight = 2,
    .needs = {"causal"},
    .hint = "May the second sequence see the first? The mask knows the borders.",
    .run{[](Trial& trial) {
      for (const Layout layout : kLayouts)
        for (const Mask& mask : {causal_mask(), full_mask()}) {
          require(trial, make(layout, packed(mask, {0, 8, 16}), 16, 4));
          require(trial, make(layout, packed(mask, {0, 5, 24, 25, 36}), 36, 5));
        }
      ask_others(trial, [&](Random& random) {
        for (const Layout layout : kLayouts) require_other(trial, random, layout, causal_mask(), true);
      });
    }},
};

const Check kPackedWindows{
    .claim = "Windows in packed sequences: whichever ends first.",
    .id = "packed-windows",
    .weight = 2,
    .needs = {"packed", "part-of-a-shard"},
    .hint = "A query sees back to the start of its window or of its sequence: which of the two is later?",
    .run{[](Trial& trial) {
      for (const Layout layout : kLayouts)
        for (const Position window : {1, 3, 6, 11})
          require(trial, make(layout, packed(window_mask(window), {0, 2, 19, 24, 37}), 37, 5));
      ask_others(trial, [&](Random& random) {
        for (const Layout layout : kLayouts)
          require_other(trial, random, layout, window_mask(random.integer(1, 20)), true);
      });
    }},
};

const Check kPerSequence{
    .claim = "Packed sequences that are dealt one by one.",
    .id = "per-sequence",
    .weight = 1,
    .needs = {"packed"},
    .hint = "problem.sharding() knows how the tokens are dealt; a layout alone does not.",
    .run{[](Trial& trial) {
      for (const Layout layout : kLayouts)
        for (const Mask& mask : {causal_mask(), window_mask(3)})
          require(trial, make(layout, packed(mask, {0, 11, 13, 30}), 30, 4, true));
      ask_others(trial, [&](Random& random) {
        for (const Layout layout : kLayouts) require_other(trial, random, layout, causal_mask(), true, true);
      });
    }},
};

// Contiguous shards of a sequence that begins on rank s and ends on the rank before it: nobody on the way.
const Check kGaps{
    .claim = "Ranks on the way that see nothing of a block still pass it on: the farthest one counts.",
    .id = "gaps",
    .weight = 3,
    .needs = {"full"},
    .hint = "May a later rank need a block that the next one does not? Look for the last one that sees it.",
    .run{[](Trial& trial) {
      require(trial, make(Layout::kContiguous, packed(full_mask(), {0, 8, 16}), 16, 4), {1, 3, 1, 3});
      require(trial, make(Layout::kContiguous, packed(full_mask(), {0, 6, 18, 30}), 30, 5), {0, 1, 4, 1, 4});
      for (const int ranks : {4, 5, 8})
        require(trial, make(Layout::kZigzag, window_mask(2), 12 * ranks, ranks));
      Mask look_ahead{.left = 0, .right = 1};
      require(trial, make(Layout::kContiguous, look_ahead, 18, 6), {0, 5, 5, 5, 5, 5});
      ask_others(trial, [&](Random& random) {
        require_other(trial, random, Layout::kZigzag, window_mask(random.integer(1, 5)));
      });
    }},
};

const Check kAnyProblem{
    .claim = "Eighty random problems: the reach agrees with the visible pairs.",
    .id = "any-problem",
    .weight = 3,
    .needs = {"zigzag", "token-layouts", "ragged", "packed-windows", "gaps"},
    .hint = "Look at the smallest problem that fails: which pair of tokens is the last one of the block?",
    .run{[](Trial& trial) {
      Random random(trial.seed());
      for (int i = 0; i < 80; ++i) {
        const Position seqlen = random.integer(1, 40);
        Mask mask{.left = random.integer(0, 3) > 0 ? random.integer(0, seqlen / 2) : kNoLimit,
                  .right = random.integer(0, 2) > 0 ? 0 : random.integer(0, seqlen / 2)};
        if (random.integer(0, 1) == 1) mask.cu_seqlens = random_borders(random, seqlen);
        const bool each = !mask.cu_seqlens.empty() && random.integer(0, 2) == 0;
        require(trial, make(kLayouts[random.integer(0, 3)], mask, seqlen,
                            static_cast<int>(random.integer(1, 9)), each));
      }
    }},
};

// Each token is seen by the next one, which lies on the next rank. Returns the steps.
std::int64_t require_striped(Trial& trial, Position rows) {
  return require(trial, make(Layout::kStriped, window_mask(1), 4 * rows, 4), Reach(4, 1));
}

// Four times the rows take four times the steps, and sixteen times if all pairs are counted.
void require_linear(Trial& trial) {
  constexpr Position kFew = 256, kMany = 4 * kFew;
  const std::int64_t few = require_striped(trial, kFew), many = require_striped(trial, kMany);
  if (many > 8 * few)
    throw Wrong(
        sign::kCounts, "square",
        "4 shards of {} tokens take {} steps and shards of {} tokens {}: the steps grow with the square",
        kFew, few, kMany, many)
        .exhibiting(exhibit_of(verify::ReachExhibit{.counted = {{kFew, few}, {kMany, many}}}));
}

// Packed windows whose every token has become many: a query sees a key of a block that far away if and only
// if the one token saw the other.
void require_stretched(Trial& trial, Random& random, Layout layout) {
  constexpr int kRanks = 4;
  const Position rows = 2 * random.integer(2, 5), seqlen = kRanks * rows, each = (Position{1} << 18) / rows;
  Mask mask{.left = random.integer(1, seqlen / 2), .right = random.integer(0, 3)};
  mask.cu_seqlens = random_borders(random, seqlen);
  const Reach want = counted(make(layout, mask, seqlen, kRanks));
  mask.left *= each, mask.right *= each;
  for (Position& border : mask.cu_seqlens) border *= each;
  require(trial, make(layout, mask, each * seqlen, kRanks), want);
}

// A cursor's steps lie in the library, where none are counted, but one that begins at the first border for
// each query takes a hundred times as long. Other checks judge the values.
void require_linear_time(Trial& trial) {
  constexpr Position kRows = 16384;  // of a shard
  constexpr int kParts = 32;
  const auto timed = [&](bool packed) {
    const auto seconds = [&](Position rows) {
      Mask mask = packed ? causal_mask() : window_mask(1);
      for (Position border = 0; packed && border <= 4 * rows; border += 2) mask.cu_seqlens.push_back(border);
      const double before = trial.own_seconds();
      trial.call<Reaches>(make(Layout::kStriped, std::move(mask), 4 * rows, 4));
      return trial.own_seconds() - before;
    };
    verify::ReachExhibit::Timed sums{packed, 0, 0};
    for (int part = 0; part < kParts; ++part) sums.in_parts += seconds(kRows / kParts);
    sums.at_once = seconds(kRows);
    return sums;
  };
  const verify::ReachExhibit reaches{.timed = {timed(false), timed(true)}};
  for (const auto& sums : reaches.timed)
    if (sums.grows_faster())
      throw Wrong(sign::kCounts, "square-time",
                  "4 shards of {} tokens in {} take far more than {} times as long as shards of {}: the time "
                  "grows with the square",
                  kRows, sums.packed ? Name{"sequences of two"} : Name{"one sequence"}, kParts,
                  kRows / kParts)
          .exhibiting(exhibit_of(reaches));
}

const Check kLong{
    .claim = "A million tokens, and thousands of sequences: no count over all pairs, or all borders.",
    .id = "long",
    .weight = 2,
    .needs = {"any-window"},
    .hint =
        "Both lists of positions increase, and so do both ends of a query's keys: what need never move back?",
    .run{[](Trial& trial) {
      require_linear(trial);
      require_linear_time(trial);
      Random random(trial.seed());
      const Position rows = (Position{1} << 18) + random.integer(1, 999);
      for (const Position shards : {0, 1, 2}) require_windows(trial, shards * rows + 1, rows, 4);
      require_striped(trial, rows);
      for (const Layout layout : {Layout::kContiguous, Layout::kZigzag})
        for (int i = 0; i < 3; ++i) require_stretched(trial, random, layout);
    }},
};

const Check kManyRanks{
    .claim = "300 ranks with some twenty tokens each.",
    .id = "many-ranks",
    .weight = 1,
    .needs = {"any-window"},
    .hint =
        "How many ranks does your function have room for, and how often does it ask for the positions of "
        "one?",
    .run{[](Trial& trial) {
      Random random(trial.seed());
      const Position rows = random.integer(15, 25);
      for (const Position window : {3 * rows - 1, 300 * rows}) require_windows(trial, window, rows, 300);
    }},
};

void ring(Trial& trial, Layout layout, int ranks, Mask mask, Position seqlen) {
  const Problem problem = make_problem({1, 2, 1, seqlen, 4}, std::move(mask), layout, ranks);
  require_driven_ring(trial, verify::make_case(problem, verify::Data::kNormal, trial.seed()));
}

const Check kDrives{
    .claim = "The library's ring, which asks your function how far blocks are needed, equals the oracle.",
    .id = "drives-the-ring",
    .weight = 3,
    .needs = {"one-rank", "causal", "empty-shards"},
    .hint = "A block that stops too early is missing in the rows of the ranks after it.",
    .run{[](Trial& trial) {
      for (const Position window : {0, 4, 5, 9}) ring(trial, Layout::kContiguous, 5, window_mask(window), 22);
      for (const Layout layout : kLayouts) ring(trial, layout, 4, packed(window_mask(6), {0, 5, 6, 26}), 26);
      ring(trial, Layout::kContiguous, 4, {.left = 2, .right = 3}, 19);
    }},
};

// ---- for a diagnosis

verify::Exhibit interview(Trial& trial) {
  std::vector<Problem> problems;
  for (const Position window : {0, 1, 2, 4, 5, 7, 8, 9, 13, 99}) problems.push_back(windowed(window, 4, 5));
  for (const Layout layout : kLayouts) {
    for (const Mask& mask : {causal_mask(), full_mask(), window_mask(1), window_mask(5),
                             Mask{.left = 3, .right = 2}, Mask{.left = 0, .right = 1},
                             Mask{.left = kNoLimit, .right = 4}, packed(causal_mask(), {0, 5, 6, 19, 22}),
                             packed(full_mask(), {0, 10, 22}), packed(window_mask(6), {0, 4, 18, 22})})
      problems.push_back(make(layout, mask, 22, 4));
    for (const Mask& mask : {packed(causal_mask(), {0, 11, 13, 30}), packed(window_mask(3), {0, 7, 30})})
      problems.push_back(make(layout, mask, 30, 5, true));
    problems.push_back(make(layout, window_mask(9), 23, 5));
    problems.push_back(make(layout, causal_mask(), 3, 5));
    problems.push_back(make(layout, window_mask(2), 2, 6));
    problems.push_back(make(layout, window_mask(2), 9, 1));
  }
  for (const int ranks : {8, 9, 16, 17, 32, 33, 64, 65, 128, 129}) problems.push_back(windowed(1, 1, ranks));
  verify::ReachExhibit reaches;
  for (const Problem& problem : problems)
    if (trial.asks()) {
      auto answer = trial.ask<Reaches>(problem);
      reaches.asked.push_back({problem, answer ? std::optional(std::move(answer->reaches)) : std::nullopt});
    }
  return exhibit_of(std::move(reaches));
}

}  // namespace

template <>
std::vector<Check> checks_of<RINGCRAFT_LESSON>() {
  std::vector<Check> checks{kOneRank,     kFull,       kCausal, kWhole,         kPart,
                            kOneKey,      kAnyWindow,  kZigzag, kTokens,        kRagged,
                            kEmptyShards, kRight,      kPacked, kPackedWindows, kPerSequence,
                            kGaps,        kAnyProblem, kLong,   kManyRanks,     kDrives};
  for (Check& check : checks) check.interview = interview;
  return checks;
}

}  // namespace ringcraft::judge
