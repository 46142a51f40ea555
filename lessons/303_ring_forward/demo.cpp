// Lesson 303: a ring of four in virtual time, where computing a block takes 3. First two orders of start,
// compute and wait, as rank 0 sees them; then the library's ring.
#include <cstdio>

#include "ringcraft/comm/threads.hpp"
#include "ringcraft/ring/theory.hpp"
#include "verify/ladder/subject.hpp"
#include "verify/oracle/cases.hpp"
#include "verify/oracle/compare.hpp"

using namespace ringcraft;
constexpr int kRanks = 4;
constexpr double kCompute = 3;

// The steps of rank 0, if an exchange takes `hop` and runs while the rank computes, or afterwards.
void steps(const char* title, bool together, double hop) {
  std::printf("%s: step, computes from, to, exchange from, goes on at\n", title);
  const auto on_a_rank = [&](ThreadCommunicator& comm) {
    const int next = (comm.rank() + 1) % kRanks, previous = (comm.rank() + kRanks - 1) % kRanks;
    std::byte block[8]{}, arriving[8];
    for (int t = 0; t < kRanks; ++t) {
      const double from = comm.clock();
      if (!together) comm.advance(kCompute);
      const double start = comm.clock();
      Pending exchange;
      if (t < kRanks - 1) exchange = comm.start({send_to(next, block), recv_from(previous, arriving)});
      if (together) comm.advance(kCompute);
      exchange.wait();
      if (comm.rank() == 0) std::printf("%d %g %g %g %g\n", t, from, from + kCompute, start, comm.clock());
    }
  };
  run_ranks(kRanks, on_a_rank, {.link = {.alpha = hop}});
  std::puts("");
}

int main() {
  steps("under way while computing", true, 1);
  steps("one after the other", false, 1);

  const auto problem = make_problem({1, 4, 2, 16, 8}, full_mask(), Layout::kContiguous, kRanks);
  verify::Inputs inputs = make_inputs(verify::make_case(problem, verify::Data::kHot, 1), DType::kFloat64);
  inputs.dout = Buffer();  // forward only
  std::puts("ring_forward: hop takes, it takes, theory says, bytes sent by a rank, as the oracle");
  for (const double hop : {0, 1, 3, 5}) {
    verify::Measurement cost;
    const verify::RanksOptions options{.board = {.link = {.alpha = hop}}, .seconds_per_pair = kCompute / 16};
    const verify::Answer got = run_over_ranks(problem, inputs, options, &cost);
    const bool right = compare_exact(got, oracle(problem, inputs), verify::Expect::kForward).good;
    std::printf("%g %g %g %g %s\n", hop, cost.forward.longest(),
                forward_time(hops(problem), {kCompute, hop, 0}), double(cost.forward.bytes_sent()),
                right ? "yes" : "no");
  }
}
