// Lesson 305: timelines of rings from their costs alone. A digit is a second of computing in that step, a dot
// a second of waiting.
#include <cstdio>
#include <string>

#include "ringcraft/ring/timed_ring.hpp"

using namespace ringcraft;
constexpr int kRanks = 4;

TimedRing forward(const Problem& p, BlockCost block, LinkCost link) {
  return timed_ring(p, Pass::kForward, Schedule::kForward, {2, 4}, block, link);
}

void show(const char* title, const TimedRing& costs) {
  const RingClocks clocks = ring_clocks(costs);
  std::printf("%s\n", title);
  for (std::size_t rank = 0; rank < kRanks; ++rank) {
    std::string line;
    for (std::size_t step = 0; step < costs.computing.size(); ++step) {
      line.append(static_cast<std::size_t>(costs.computing[step][rank]), static_cast<char>('0' + step));
      line.resize(static_cast<std::size_t>(clocks.steps[step][rank]), '.');
    }
    line.resize(static_cast<std::size_t>(clocks.ends[rank]), '.');
    std::printf("rank %d %s %g exposed\n", int(rank), line.c_str(), clocks.exposed[rank]);
  }
  std::puts("");
}

int main() {
  // Even steps of 3 seconds; a block has 16 bytes, the sum of its gradients 32.
  const Problem even = make_problem({.seqlen = 16, .head_dim = 1}, full_mask(), Layout::kContiguous, kRanks);
  const BlockCost three{.per_block = 3};
  for (const double hop : {2, 5})
    show(hop == 2 ? "forward, hops of 2" : "forward, hops of 5", forward(even, three, {.beta = 16 / hop}));
  for (const Schedule schedule : {Schedule::kForward, Schedule::kReversed})
    show(schedule == Schedule::kForward ? "backward, schedule forward, blocks of 1, sums of 2"
                                        : "backward, schedule reversed, blocks of 1, sums of 2",
         timed_ring(even, Pass::kBackward, schedule, {2, 4}, three, {.beta = 16}));
  TimedRing slow = forward(even, {.per_block = 2}, {.beta = 16});
  slow.computing[0][0] = 7;
  show("forward, computing 2, hops of 1, and 7 once on rank 0", slow);

  std::puts("16 causal tokens: layout, seconds of a hop; ends and exposed seconds of ranks 0 to 3");
  for (const Layout layout : {Layout::kContiguous, Layout::kZigzag})
    for (const double hop : {1, 8, 20}) {
      const Problem p = make_problem({.seqlen = 16, .head_dim = 1}, causal_mask(), layout, kRanks);
      const RingClocks clocks = ring_clocks(forward(p, {.per_pair = 1}, {.alpha = hop}));
      std::printf("%-10s %2g", name_of(layout).data(), hop);
      for (const double end : clocks.ends) std::printf(" %3g", end);
      for (const double seconds : clocks.exposed) std::printf(" %3g", seconds);
      std::puts("");
    }
}
