// Lesson 201: checks of three naive kernels. One launch is one step of a ring: it reads (O, m, l) and leaves
// them with a block's keys added. The kernels run on the CPU, one fiber per thread, and every launch is
// checked. The checks look at the score matrix between the kernels, S after the first and P after the second,
// and compare the result of the whole step with the oracle under the rule for float32.
#include "judge/checks/kernel_checks.hpp"
#include "judge/checks/lesson.hpp"

namespace ringcraft::judge {
namespace {

KernelRung naive(Trial& trial) {
  return {[&trial](const KernelStep& step) { return trial.call<NaiveKernels>(step).result; }, score_matrix};
}

// A small head after the first kernels of a step.
KernelHead after(Trial& trial, int launches, const HeadShape& shape) {
  KernelHead head = kernel_head(trial, naive(trial), shape, full_mask());
  head.step(naive(trial).call, {.launches = launches});
  return head;
}

const HeadShape kWide{6, 9, 4}, kHigh{9, 6, 3};

const Check kScores{
    .claim = "The first kernel leaves softmax_scale * q . k in S, for every pair that is visible.",
    .id = "scores",
    .weight = 3,
    .hint =
        "One thread, one score: which row a and which key b belong to number i, when S has `keys` columns?",
    .run{[](Trial& trial) {
      for (const HeadShape& shape : {kWide, kHigh}) {
        KernelHead head = after(trial, 1, shape);
        require_scores(head);
      }
    }},
};

const Check kWeights{
    .claim =
        "The second turns each row of S into weights, in place, and writes m, l and the factor of the old O.",
    .id = "weights",
    .weight = 3,
    .needs = {"scores"},
    .hint =
        "Three loops over one row, as in lesson 102: maximum, exponentials, sum; the maximum begins at the "
        "old m.",
    .run{[](Trial& trial) {
      for (const HeadShape& shape : {kWide, kHigh}) {
        KernelHead head = after(trial, 2, shape);
        require_weights(head);
      }
    }},
};

const Check kValues{
    .claim = "The third rescales O and adds P v.",
    .id = "values",
    .weight = 3,
    .needs = {"weights"},
    .hint = "One thread, one number of O: a row a and a column d. What is the old O multiplied by?",
    .run{[](Trial& trial) {
      require_shapes(trial, naive(trial), {kWide, kHigh});
      KernelHead head = kernel_head(trial, naive(trial), {32, 40, 32}, full_mask());
      const KernelRun counted = head.step(naive(trial).call, {.count_traffic = true});
      double sectors = 0, requests = 0;
      for (const MovedByLine& line : counted.moved)
        if (!line.shared && !line.writes) {
          sectors += static_cast<double>(line.transfers);
          requests += static_cast<double>(line.requests);
        }
      if (requests > 0) trial.note({"sectors for each read of the third kernel", sectors / requests, {}, ""});
    }},
};

// Numbers of one kernel that fill thread blocks of 256 exactly, lack one, and have one too many.
const Check kAnySize{
    .claim = "Any number of rows, keys and columns, 1 and 257 included, and any softmax_scale.",
    .id = "any-size",
    .weight = 2,
    .needs = {"values"},
    .hint =
        "The last thread block has threads without a number. Which is the first i that does not exist, in "
        "each of the kernels?",
    .run{[](Trial& trial) {
      require_shapes(
          trial, naive(trial),
          {{1, 1, 1}, {16, 16, 16}, {17, 15, 1}, {1, 257, 2}, {257, 1, 1}, {5, 3, 128}, {3, 86, 1}});
      require_scales(trial, naive(trial));
    }},
};

const Check kMasks{
    .claim =
        "Causal, windowed, two-sided and packed masks; where a row does not see a key, S stays as it is.",
    .id = "masks",
    .weight = 2,
    .needs = {"values"},
    .hint =
        "Row a sees the keys begin[a] <= b < end[a]. Scores outside of them are neither written nor read.",
    .run{[](Trial& trial) {
      require_masks(trial, naive(trial), 17);
      for (const Mask& mask : {causal_mask(), window_mask(3)}) {
        KernelHead head = kernel_head(trial, naive(trial), {17, 17, 3}, mask);
        head.step(naive(trial).call);
        require_unseen_scores_untouched(head);
      }
    }},
};

const Check kBlindRows{
    .claim = "A row that sees no key of the block keeps O, m and l to the bit.",
    .id = "blind-rows",
    .weight = 2,
    .needs = {"values"},
    .hint = "If begin[a] is not below end[a] there is nothing to do for that row: in which of the kernels?",
    .run{[](Trial& trial) { require_blind_rows(trial, naive(trial), 1); }},
};

const Check kHotScores{
    .claim = "Scores of hundreds and of +-20000 neither overflow nor vanish.",
    .id = "hot-scores",
    .weight = 2,
    .needs = {"values"},
    .hint = "No exponent is positive when every row subtracts its own maximum, the old m included.",
    .run{[](Trial& trial) { require_hot_scores(trial, naive(trial)); }},
};

const Check kHeadsAndBatch{
    .claim = "Many heads, many batch entries, and query heads that share a KV head.",
    .id = "heads-and-batch",
    .weight = 2,
    .needs = {"values"},
    .hint =
        "Each array has its own number of heads. Which of rows_of_this_head, rows_for_this_head and "
        "this_head() belongs to which?",
    .run{[](Trial& trial) { require_heads(trial, naive(trial)); }},
};

const Check kAddsToTheState{
    .claim = "Keys that come in several steps, in any order, give what one step gives.",
    .id = "adds-to-the-state",
    .weight = 2,
    .needs = {"values"},
    .hint = "The state that you find may have seen other keys: l and O are rescaled by the same factor.",
    .run{[](Trial& trial) { require_state(trial, naive(trial), 1); }},
};

const Check kCaseTable{
    .claim =
        "Blocks of the harness's table: shards against foreign blocks, every mask, layout and kind of data.",
    .id = "case-table",
    .weight = 2,
    .needs = {"values"},
    .hint = "Look at the case's name: which of its words do your kernels not handle?",
    .run{[](Trial& trial) { require_table(trial, naive(trial), 5); }},
};

}  // namespace

template <>
std::vector<Check> checks_of<RINGCRAFT_LESSON>() {
  std::vector<Check> checks{kScores,    kWeights,   kValues,        kAnySize,        kMasks,
                            kBlindRows, kHotScores, kHeadsAndBatch, kAddsToTheState, kCaseTable};
  for (Check& check : checks) check.interview = [](Trial& trial) { return one_by_one(trial, naive(trial)); };
  return checks;
}

}  // namespace ringcraft::judge
