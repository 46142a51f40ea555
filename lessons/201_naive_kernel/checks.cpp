// Lesson 201: what three naive kernels must do. One launch is one step of a ring: it finds (O, m, l) and
// leaves them with a block's keys added. The kernels run on the CPU, one fiber per thread, and every launch
// is checked. Between the kernels the score matrix is looked at: S after the first, P after the second; what
// the whole step leaves is compared with the oracle under the rule for float32.
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

void scores(Trial& trial) {
  for (const HeadShape& shape : {kWide, kHigh}) {
    KernelHead head = after(trial, 1, shape);
    require_scores(head);
  }
}

void weights(Trial& trial) {
  for (const HeadShape& shape : {kWide, kHigh}) {
    KernelHead head = after(trial, 2, shape);
    require_weights(head);
  }
}

void values(Trial& trial) {
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
}

// Numbers of one kernel that fill thread blocks of 256 exactly, lack one, and have one too many.
void any_size(Trial& trial) {
  require_shapes(trial, naive(trial),
                 {{1, 1, 1}, {16, 16, 16}, {17, 15, 1}, {1, 257, 2}, {257, 1, 1}, {5, 3, 128}, {3, 86, 1}});
  require_scales(trial, naive(trial));
}

void masks(Trial& trial) {
  require_masks(trial, naive(trial), 17);
  for (const Mask& mask : {causal_mask(), window_mask(3)}) {
    KernelHead head = kernel_head(trial, naive(trial), {17, 17, 3}, mask);
    head.step(naive(trial).call);
    require_unseen_scores_untouched(head);
  }
}

void blind_rows(Trial& trial) { require_blind_rows(trial, naive(trial), 1); }
void hot_scores(Trial& trial) { require_hot_scores(trial, naive(trial)); }
void heads_and_batch(Trial& trial) { require_heads(trial, naive(trial)); }
void adds_to_the_state(Trial& trial) { require_state(trial, naive(trial), 1); }
void case_table(Trial& trial) { require_table(trial, naive(trial), 5); }

}  // namespace

Lesson lesson_201() {
  return {
      .number = 201,
      .name = "201_naive_kernel",
      .title = "A naive kernel",
      .source = "kernels/forward/01_naive.cu",
      .function = "scores, softmax and values",
      .allowed = {"ringcraft::simt::sync_threads", "ringcraft::simt::warp_operation",
                  "ringcraft::simt::this_lane"},  // barriers and shuffles
      .checks = {
          {"scores",
           3,
           {},
           "The first kernel leaves softmax_scale * q . k in S, for every pair that is visible.",
           "One thread, one score: which row a and which key b belong to number i, when S has `keys` "
           "columns?",
           scores},
          {"weights",
           3,
           {"scores"},
           "The second turns each row of S into weights, in place, and leaves m, l and the factor of the old "
           "O.",
           "Three loops over one row, as in lesson 102: maximum, exponentials, sum; the maximum begins at "
           "the old m.",
           weights},
          {"values",
           3,
           {"weights"},
           "The third adds P v to what is left of O.",
           "One thread, one number of O: a row a and a column d. What is the old O multiplied by?",
           values},
          {"any-size",
           2,
           {"values"},
           "Any number of rows, keys and columns, 1 and 257 included, and any softmax_scale.",
           "The last thread block has threads without a number. Which is the first i that does not exist, in "
           "each of the kernels?",
           any_size},
          {"masks",
           2,
           {"values"},
           "Causal, windowed, two-sided and packed masks; where a row does not see a key, S stays as it is.",
           "Row a sees the keys begin[a] <= b < end[a]. What lies outside of them is neither written nor "
           "read.",
           masks},
          {"blind-rows",
           2,
           {"values"},
           "A row that sees no key of the block keeps O, m and l to the bit.",
           "If begin[a] is not below end[a] there is nothing to do for that row: in which of the kernels?",
           blind_rows},
          {"hot-scores",
           2,
           {"values"},
           "Scores of hundreds and of +-20000 neither overflow nor vanish.",
           "No exponent is positive when every row subtracts its own maximum, the old m included.",
           hot_scores},
          {"heads-and-batch",
           2,
           {"values"},
           "Many heads, many batch entries, and query heads that share a KV head.",
           "Each array has its own number of heads. Which of rows_of_this_head, rows_for_this_head and "
           "this_head() belongs to which?",
           heads_and_batch},
          {"adds-to-the-state",
           2,
           {"values"},
           "Keys that come in several steps, in any order, give what one step gives.",
           "The state that you find may have seen other keys: l and O are rescaled by the same factor.",
           adds_to_the_state},
          {"case-table",
           2,
           {"values"},
           "Blocks of the harness's table: shards against foreign blocks, every mask, layout and kind of "
           "data.",
           "Look at the case's name: which of its words do your kernels not handle?",
           case_table},
      }};
}

}  // namespace ringcraft::judge
