// Lesson 401: the pairs of each rank and step in a causal ring of contiguous shards, and the gain by
// skipping.
#include <cstdio>

#include "ringcraft/ring/work.hpp"
#include "verify/ladder/subject.hpp"
#include "verify/oracle/cases.hpp"

using namespace ringcraft;

Problem problem_of(Mask mask, Position seqlen, int ranks) {
  return make_problem({.seqlen = seqlen, .head_dim = 1}, std::move(mask), Layout::kContiguous, ranks);
}

// Runs a real ring on thread ranks, where a visible pair costs one unit of virtual time and a message none.
void print_clocks(const char* name, const Problem& problem) {
  verify::Inputs inputs =
      verify::make_inputs(verify::make_case(problem, verify::Data::kNormal, 1), DType::kFloat64);
  inputs.dout = Buffer();  // the forward pass only
  verify::Measurement run;
  verify::run_over_ranks(problem, inputs, {.seconds_per_pair = 1}, &run);
  const auto& at = run.forward.clock;
  std::printf("%-16s %5.0f %5.0f %5.0f %5.0f\n", name, at[0], at[1], at[2], at[3]);
}

void print_work(const char* name, const Problem& problem) {
  const RingWork work = ring_work(problem);
  Index all = 0;
  for (const Index pairs : work.by_rank) all += pairs;
  std::printf("%-16s %4d %7d %9lld %9lld %5.1f%%\n", name, hops(problem), work.skipped,
              static_cast<long long>(all) / problem.world_size, static_cast<long long>(work.synchronous_cost),
              100 * work.imbalance);
}

int main() {
  const Problem causal = problem_of(causal_mask(), 16, 4), full = problem_of(full_mask(), 16, 4);
  std::printf("step, and the pairs of ranks 0 to 3\n");
  const RingWork work = ring_work(causal);
  int t = 0;
  for (const auto& row : work.pairs)
    std::printf("%d %5d %5d %5d %5d\n", t++, int(row[0]), int(row[1]), int(row[2]), int(row[3]));
  std::printf("\nwhen each rank of a real ring has finished\n");
  print_clocks("nothing_skipped", full);
  print_clocks("skipped", causal);

  std::printf(
      "\n4096 tokens: ranks, pairs and time without skipping and with, what skipping saves of both\n");
  for (const int n : {2, 4, 8, 16, 32}) {
    const auto dense = static_cast<double>(Index{4096} * 4096), pairs = 4096.0 * 4097 / 2;
    const auto time = static_cast<double>(ring_work(problem_of(causal_mask(), 4096, n)).synchronous_cost);
    std::printf("%2d %9.0f %8.0f %8.0f %8.0f %5.1f%% %5.1f%%\n", n, dense, pairs, dense / n, time,
                100 * (1 - pairs / dense), 100 * (1 - time * n / dense));
  }

  std::printf("\n4096 tokens on 8 ranks: hops, skipped blocks, fair share, cost, imbalance\n");
  print_work("full", problem_of(full_mask(), 4096, 8));
  print_work("causal", problem_of(causal_mask(), 4096, 8));
  print_work("window_1024", problem_of(window_mask(1024), 4096, 8));
  print_work("window_128", problem_of(window_mask(128), 4096, 8));
}
