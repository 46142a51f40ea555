// Lesson 304: blocks and the sums of their gradients on four ranks, once as digits that name their block, and
// once as the library computes them.
#include <array>
#include <cstdio>

#include "ringcraft/comm/exchange.hpp"
#include "ringcraft/comm/threads.hpp"
#include "verify/ladder/subject.hpp"
#include "verify/oracle/cases.hpp"
#include "verify/oracle/compare.hpp"

using namespace ringcraft;
constexpr int kRanks = 4;
using Text = std::array<char, kRanks + 1>;  // ends with a zero

// Blocks move by kv_to ranks after each step, sums by sum_to; a rank begins with the block of rank + first.
// It writes its part of a gradient into the sum as the digit of the block that the part belongs to.
void walk(const char* title, int first, int kv_to, int sum_to, int sum_hops) {
  Text blocks[kRanks + 1][kRanks], sums[kRanks + 1][kRanks];
  run_ranks(kRanks, [&](ThreadCommunicator& comm) {
    const auto rank = [&](int other) { return (comm.rank() + other + kRanks) % kRanks; };
    const auto moved = [&](const Text& out, int to) {
      Text in;
      exchange_send_recv(
          comm, {rank(to), std::as_bytes(std::span(out)), rank(-to), std::as_writable_bytes(std::span(in))});
      return in;
    };
    Text block{static_cast<char>('0' + rank(first))}, sum{'.', '.', '.', '.'};
    for (int step = 0; step <= kRanks; ++step) {
      if (step < kRanks) sum[step] = block[0];
      blocks[step][rank(0)] = block, sums[step][rank(0)] = sum;
      block = step + 1 < kRanks ? moved(block, kv_to) : Text{'-'};
      if (step < sum_hops) sum = moved(sum, sum_to);
    }
  });
  std::printf("%s: step, block:sum in the hands of ranks 0 to 3\n", title);
  for (int step = 0; step <= kRanks; ++step) {
    std::printf("%d", step);
    for (int r = 0; r < kRanks; ++r) std::printf(" %s:%s", blocks[step][r].data(), sums[step][r].data());
    std::puts(step < kRanks ? "" : "\n");
  }
}

int main() {
  walk("schedule forward", 0, 1, 1, kRanks);
  walk("schedule reversed", 1, -1, -1, kRanks - 1);
  walk("sums against blocks", 0, 1, -1, kRanks);
  // A block (16 pairs, at 2.5 times the forward cost) takes 3, a hop of a block or of its gradients 1.
  const auto problem = make_problem({1, 2, 1, 16, 4}, full_mask(), Layout::kContiguous, kRanks);
  const auto inputs = make_inputs(verify::make_case(problem, verify::Data::kNormal, 1), DType::kFloat64);
  std::puts("schedule, bytes sent by a rank, virtual time, largest error below 1e-12 of its scale");
  for (const Schedule schedule : {Schedule::kForward, Schedule::kReversed}) {
    verify::Measurement cost;
    const verify::RanksOptions options{{schedule}, {}, {.link = {.beta = 2 * 4 * 4 * 8}}, 3 / 2.5 / 16};
    const bool right =
        compare_exact(run_over_ranks(problem, inputs, options, &cost), oracle(problem, inputs)).good;
    std::printf("%s %g %g %s\n", schedule == Schedule::kForward ? "forward" : "reversed",
                double(cost.backward.bytes_sent()), cost.backward.longest(), right ? "yes" : "no");
  }
}
