// Lesson 401: checks of the ledger of a ring's work. They count the answers pair by pair, with the oracle's
// mask predicate, over all N steps of a ring, and use no key ranges.
#include <algorithm>
#include <cmath>

#include "exercise.hpp"
#include "judge/checks/lesson.hpp"
#include "ringcraft/core/random.hpp"
#include "verify/oracle/oracle.hpp"

namespace ringcraft::judge {
namespace {

using Steps = std::vector<std::vector<Index>>;  // [steps][ranks]

std::size_t at(int i) { return static_cast<std::size_t>(i); }

// ---- the answers

Index counted(const Mask& mask, const std::vector<Position>& queries, const std::vector<Position>& keys) {
  Index pairs = 0;
  for (const Position q : queries)
    for (const Position k : keys) pairs += verify::visible(mask, q, k) ? 1 : 0;
  return pairs;
}

// Every step up to the last one in which some rank has work.
Steps counted(const Problem& problem) {
  const int n = problem.world_size;
  std::vector<std::vector<Position>> positions;
  for (int rank = 0; rank < n; ++rank) positions.push_back(problem.sharding().positions(rank));
  Steps steps;
  std::size_t needed = 0;
  for (int t = 0; t < n; ++t) {
    steps.emplace_back();
    for (int rank = 0; rank < n; ++rank)
      steps.back().push_back(counted(problem.mask, positions[at(rank)], positions[at((rank + n - t) % n)]));
    if (*std::ranges::max_element(steps.back()) > 0) needed = steps.size();
  }
  steps.resize(needed);
  return steps;
}

std::vector<Index> by_rank(const Steps& steps) {
  std::vector<Index> sum(steps.front().size());
  for (const auto& step : steps)
    for (std::size_t rank = 0; rank < sum.size(); ++rank) sum[rank] += step[rank];
  return sum;
}

// ---- the comparisons

std::string text(const std::vector<Index>& list) {
  std::string result;
  for (const Index number : list) result += (result.empty() ? "" : ", ") + std::to_string(number);
  return "[" + result + "]";
}

std::string name_of_problem(const Problem& p) {
  return "n=" + std::to_string(p.world_size) + " " + std::string(name_of(p.layout)) + " " +
         described(p.mask) + " s=" + std::to_string(p.shape.seqlen);
}

template <class... Facts>
[[noreturn]] void wrong(const Problem& problem, const char* code, const char* words, Facts&&... facts) {
  throw Wrong(sign::kValues, code, words, std::forward<Facts>(facts)...)
      .labelled(name_of_problem(problem) + ": ");
}

RingWork work_of(Trial& trial, const Problem& problem) {
  return trial.call<RingWorkExercise>(problem).result;
}

void require_pairs(Trial& trial, const Problem& problem) {
  const Steps got = work_of(trial, problem).pairs, want = counted(problem);
  if (got.size() != want.size())
    wrong(problem, "steps", "pairs has {} steps, and a ring over this problem makes {}", got.size(),
          want.size());
  for (std::size_t t = 0; t < want.size(); ++t) {
    if (got[t].size() != want[t].size())
      wrong(problem, "entries", "step {} has {} entries, and there are {} ranks", t, got[t].size(),
            want[t].size());
    for (std::size_t rank = 0; rank < want[t].size(); ++rank)
      if (got[t][rank] != want[t][rank])
        wrong(problem, "pairs", "step {}, rank {}: {} pairs, and counting one by one gives {}", t, rank,
              got[t][rank], want[t][rank]);
  }
}

// ---- problems

Problem make(Layout layout, Mask mask, Position seqlen, int ranks) {
  return make_problem({.seqlen = seqlen, .head_dim = 1}, std::move(mask), layout, ranks);
}

Mask packed(Mask mask, std::vector<Position> borders) {
  mask.cu_seqlens = std::move(borders);
  return mask;
}

// Problems that the figures of the table are tried on: all layouts, windows, packs, ragged and empty shards;
// and sizes that are others for each seed.
std::vector<Problem> mixture(const Trial& trial) {
  std::vector<Problem> problems;
  for (const Layout layout : kLayouts) {
    problems.push_back(make(layout, causal_mask(), 16, 4));
    problems.push_back(make(layout, causal_mask(), 23, 5));
    problems.push_back(make(layout, window_mask(4), 21, 3));
    problems.push_back(make(layout, packed(causal_mask(), {0, 5, 6, 19, 26}), 26, 4));
  }
  problems.push_back(make(Layout::kContiguous, window_mask(6), 20, 5));
  problems.push_back(make(Layout::kContiguous, causal_mask(), 3, 5));
  problems.push_back(make(Layout::kZigzag, full_mask(), 9, 1));
  Random random(trial.seed());
  for (const Layout layout : kLayouts)
    problems.push_back(make(layout, window_mask(random.integer(1, 90)), random.integer(100, 300),
                            static_cast<int>(random.integer(3, 9))));
  return problems;
}

// ---- the checks

const Check kOneRank{
    .claim = "One rank has one step, and all pairs in it.",
    .id = "one-rank",
    .weight = 1,
    .hint = "hops(problem) is 0 for one rank, and a ring makes one step more than it makes hops.",
    .run{[](Trial& trial) {
      require_pairs(trial, make(Layout::kContiguous, causal_mask(), 7, 1));
      require_pairs(trial, make(Layout::kZigzag, full_mask(), 5, 1));
      Random random(trial.seed());
      require_pairs(trial, make(Layout::kContiguous, causal_mask(), random.integer(900, 1500), 1));
    }},
};

const Check kFull{
    .claim = "Full attention: every rank has the same work in each of N steps.",
    .id = "full",
    .weight = 2,
    .needs = {"one-rank"},
    .hint = "A ring over N ranks makes hops(problem) + 1 steps: is the last one in your table?",
    .run{[](Trial& trial) {
      for (const int ranks : {2, 3, 4})
        require_pairs(trial, make(Layout::kContiguous, full_mask(), 12, ranks));
    }},
};

const Check kCausal{
    .claim = "Causal, contiguous shards, 2 to 8 ranks: a triangle at step 0, then whole blocks or nothing.",
    .id = "causal",
    .weight = 3,
    .needs = {"full"},
    .hint =
        "At step t rank i holds the block of rank (i - t) mod N: in C++ the number before % must not be "
        "negative.",
    .run{[](Trial& trial) {
      require_pairs(trial, make(Layout::kContiguous, causal_mask(), 16, 4));
      for (int ranks = 2; ranks <= 8; ++ranks)
        require_pairs(trial, make(Layout::kContiguous, causal_mask(), 3 * ranks, ranks));
    }},
};

const Check kOtherLayouts{
    .claim = "Striped and zig-zag layouts.",
    .id = "layouts",
    .weight = 2,
    .needs = {"causal"},
    .hint =
        "Whether a block is skipped is a question about positions, not about rank numbers: ask the key "
        "ranges.",
    .run{[](Trial& trial) {
      for (const Layout layout : {Layout::kStriped, Layout::kZigzag, Layout::kZigzagToken})
        for (const int ranks : {3, 4}) require_pairs(trial, make(layout, causal_mask(), 24, ranks));
    }},
};

const Check kRagged{
    .claim = "Lengths that the ranks do not divide.",
    .id = "ragged",
    .weight = 1,
    .needs = {"causal"},
    .hint = "Shards differ by one row: does your count take any length for granted?",
    .run{[](Trial& trial) {
      for (const Layout layout : kLayouts)
        for (const Position seqlen : {13, 17, 22})
          require_pairs(trial, make(layout, causal_mask(), seqlen, 5));
    }},
};

const Check kEmptyShards{
    .claim = "Fewer tokens than ranks: some ranks own nothing.",
    .id = "empty-shards",
    .weight = 1,
    .needs = {"causal"},
    .hint = "A rank without rows, or a block without keys, has 0 pairs like any other that is skipped.",
    .run{[](Trial& trial) {
      for (const Layout layout : kLayouts) {
        require_pairs(trial, make(layout, causal_mask(), 3, 5));
        require_pairs(trial, make(layout, full_mask(), 1, 4));
      }
    }},
};

const Check kWindows{
    .claim = "Sliding windows: the table ends with the last step that any rank needs.",
    .id = "windows",
    .weight = 2,
    .needs = {"causal"},
    .hint = "A window reaches back over few shards; hops(problem) says over how many.",
    .run{[](Trial& trial) {
      for (const Position window : {0, 3, 4, 5, 8, 100})
        require_pairs(trial, make(Layout::kContiguous, window_mask(window), 20, 5));
      for (const Layout layout : kLayouts) require_pairs(trial, make(layout, window_mask(5), 22, 4));
    }},
};

const Check kPacked{
    .claim = "Packed sequences.",
    .id = "packed",
    .weight = 1,
    .needs = {"causal"},
    .hint = "The mask of the problem knows the borders; nothing about them belongs into your function.",
    .run{[](Trial& trial) {
      for (const Layout layout : kLayouts) {
        require_pairs(trial, make(layout, packed(causal_mask(), {0, 5, 24, 25, 36}), 36, 4));
        require_pairs(trial, make(layout, packed(full_mask(), {0, 12, 24, 36}), 36, 3));
      }
    }},
};

const Check kAnyProblem{
    .claim = "Sixty random problems on 1 to 8 ranks.",
    .id = "any-problem",
    .weight = 2,
    .needs = {"layouts", "ragged", "windows", "packed"},
    .hint = "Look at the smallest problem that fails, and count one of its blocks by hand.",
    .run{[](Trial& trial) {
      Random random(trial.seed());
      for (int i = 0; i < 60; ++i) {
        const Position seqlen = random.integer(1, 30);
        Mask mask{.left = random.integer(0, 2) > 0 ? kNoLimit : random.integer(0, seqlen),
                  .right = random.integer(0, 3) > 0 ? 0 : random.integer(0, seqlen)};
        if (seqlen > 1 && random.integer(0, 1) == 1)
          mask.cu_seqlens = {0, random.integer(1, seqlen - 1), seqlen};
        require_pairs(trial, make(kLayouts[random.integer(0, 3)], mask, seqlen,
                                  static_cast<int>(random.integer(1, 8))));
      }
    }},
};

const Check kByRank{
    .claim = "by_rank adds up the columns of the table.",
    .id = "by-rank",
    .weight = 1,
    .hint = "A rank's work is the sum over the steps, one number for each rank.",
    .run{[](Trial& trial) {
      for (const Problem& problem : mixture(trial)) {
        const auto got = work_of(trial, problem).by_rank, want = by_rank(counted(problem));
        if (got != want)
          wrong(problem, "by-rank", "by_rank is {}, and the columns of the table add up to {}",
                Name{text(got)}, Name{text(want)});
      }
    }},
};

const Check kSkipped{
    .claim = "skipped counts the blocks that no row of a rank sees.",
    .id = "skipped",
    .weight = 2,
    .hint = "A block from a later rank can hold keys of the past: count zeros of your table, nothing else.",
    .run{[](Trial& trial) {
      for (const Problem& problem : mixture(trial)) {
        const int got = work_of(trial, problem).skipped;
        int want = 0;
        for (const auto& step : counted(problem)) want += static_cast<int>(std::ranges::count(step, 0));
        if (got != want)
          wrong(problem, "skipped", "skipped is {}, and {} entries of the table are 0", got, want);
      }
    }},
};

const Check kCost{
    .claim = "synchronous_cost is the sum over the steps of the slowest rank's pairs.",
    .id = "cost",
    .weight = 2,
    .hint = "In each step all wait for the slowest, and that need not be the same rank every time.",
    .run{[](Trial& trial) {
      for (const Problem& problem : mixture(trial)) {
        const Index got = work_of(trial, problem).synchronous_cost;
        Index want = 0;
        for (const auto& step : counted(problem)) want += *std::ranges::max_element(step);
        if (got != want)
          wrong(problem, "cost", "synchronous_cost is {}, and the largest entries of the steps add up to {}",
                got, want);
      }
    }},
};

const Check kImbalance{
    .claim = "imbalance is 1 - mean / max of the ranks' work.",
    .id = "imbalance",
    .weight = 2,
    .hint = "Divide as numbers with a fraction, and divide the mean by the maximum.",
    .run{[](Trial& trial) {
      for (const Problem& problem : mixture(trial)) {
        const double got = work_of(trial, problem).imbalance;
        double total = 0, busiest = 0;
        const std::vector<Index> pairs = by_rank(counted(problem));
        for (const Index rank : pairs) {
          total += static_cast<double>(rank);
          busiest = std::max(busiest, static_cast<double>(rank));
        }
        const double want = 1 - total / static_cast<double>(pairs.size()) / busiest;
        if (!(std::fabs(got - want) <= 1e-12))  // NaN fails
          wrong(problem, "imbalance", "imbalance is {}, and 1 - mean / max of {} is {}", digits_of(got),
                Name{text(pairs)}, digits_of(want));
      }
    }},
};

const Check kOneHead{
    .claim = "Pairs are counted for one head: batch and heads do not matter.",
    .id = "one-head",
    .weight = 1,
    .needs = {"causal"},
    .hint = "All heads have the same mask; the table is about one of them.",
    .run{[](Trial& trial) {
      const Problem problem = make_problem({2, 8, 2, 15, 4}, causal_mask(), Layout::kContiguous, 3);
      require_pairs(trial, problem);
      if (const Answer<RingWork> answer = trial.call<RingWorkExercise>(problem); answer.changed != 0)
        throw Wrong(sign::kInput, "argument-changed",
                    "{}: your function changed the problem, which it may only read",
                    name_of_problem(problem));
    }},
};

// Closed forms: c (c + 1) / 2 pairs on the diagonal, c^2 below it.
const Check kLong{
    .claim = "120000 tokens: counts beyond 32 bits.",
    .id = "long",
    .weight = 1,
    .needs = {"causal"},
    .hint = "Which type do the sums have? Index has 64 bits, int has 32.",
    .run{[](Trial& trial) {
      const Index c = 60000, triangle = c * (c + 1) / 2;
      const Problem problem = make(Layout::kContiguous, causal_mask(), 2 * c, 2);
      const RingWork work = work_of(trial, problem);
      if (work.pairs != Steps{{triangle, triangle}, {0, c * c}})
        wrong(problem, "table", "the table must be [{}, {}]", text({triangle, triangle}), text({0, c * c}));
      if (work.by_rank != std::vector{triangle, triangle + c * c} ||
          work.synchronous_cost != triangle + c * c)
        wrong(problem, "sums", "rank 1 has {} pairs, which are also the cost; you return {} and {}",
              triangle + c * c, Name{text(work.by_rank)}, work.synchronous_cost);
      if (const double want = 1 - (2.0 * static_cast<double>(triangle) + static_cast<double>(c * c)) / 2 /
                                      static_cast<double>(triangle + c * c);
          !(std::fabs(work.imbalance - want) <= 1e-12))
        wrong(problem, "imbalance", "imbalance is {}, and must be {}", digits_of(work.imbalance),
              digits_of(want));
    }},
};

// ---- for a diagnosis

verify::Exhibit interview(Trial& trial) {
  std::vector<Problem> problems;
  for (const Layout layout : kLayouts) {
    for (const Mask& mask : {causal_mask(), full_mask(), window_mask(4), Mask{.left = 7, .right = 2},
                             packed(causal_mask(), {0, 5, 6, 19, 22}), packed(full_mask(), {0, 12, 22})})
      problems.push_back(make(layout, mask, 22, 4));
    problems.push_back(make(layout, causal_mask(), 16, 4));
    problems.push_back(make(layout, window_mask(9), 23, 5));
    problems.push_back(make(layout, causal_mask(), 3, 5));
    problems.push_back(make(layout, window_mask(1), 18, 3));
    problems.push_back(make(layout, causal_mask(), 9, 1));
  }
  problems.push_back(make(Layout::kContiguous, window_mask(0), 20, 5));
  problems.push_back(make(Layout::kContiguous, window_mask(6), 20, 5));
  problems.push_back(make_problem({2, 8, 2, 15, 4}, causal_mask(), Layout::kContiguous, 3));
  problems.push_back(make(Layout::kContiguous, causal_mask(), 120'000, 2));  // beyond 32 bits
  verify::WorkExhibit ledgers;
  for (const Problem& problem : problems)
    if (auto work = trial.ask<RingWorkExercise>(problem))
      ledgers.ledgers.push_back({problem, std::move(*work)});
  return exhibit_of(std::move(ledgers));
}

}  // namespace

template <>
std::vector<Check> checks_of<RINGCRAFT_LESSON>() {
  std::vector<Check> checks{kOneRank,     kFull,    kCausal,    kOtherLayouts, kRagged,
                            kEmptyShards, kWindows, kPacked,    kAnyProblem,   kByRank,
                            kSkipped,     kCost,    kImbalance, kOneHead,      kLong};
  for (Check& check : checks) check.interview = interview;
  return checks;
}

}  // namespace ringcraft::judge
