// Lesson 302: a row of scores on four ranks, one of them without a score; and the exchanges of more ranks.
#include <cstdio>
#include <numbers>
#include <string>

#include "ringcraft/comm/exchange.hpp"
#include "ringcraft/comm/threads.hpp"
#include "ringcraft/ring/distributed_softmax.hpp"

using namespace ringcraft;
constexpr int kRanks = 4;

// The ranks whose states a rank knows after each exchange, as digits.
void spread(const char* title, bool doubling) {
  std::string lines[kRanks];
  run_ranks(kRanks, [&](ThreadCommunicator& comm) {
    const std::string own = std::to_string(comm.rank());
    std::string known = own, &line = lines[comm.rank()] = own;
    while (known.size() < kRanks) {
      const int by = doubling ? kRanks - static_cast<int>(known.size()) : 1;
      std::string in(known);
      exchange_send_recv(comm, {(comm.rank() + by) % kRanks, std::as_bytes(std::span(known)),
                                (comm.rank() + kRanks - by) % kRanks, std::as_writable_bytes(std::span(in))});
      known = doubling ? known + in : in + own;
      line += " " + known;
    }
  });
  std::printf("%s: states that ranks 0 to 3 know, exchange by exchange\n", title);
  for (const std::string& line : lines) std::puts(line.c_str());
}

int main() {
  spread("chain", false);
  spread("\nall-gather", true);
  constexpr double u = std::numbers::ln2;  // with scores in this unit all weights are powers of two
  std::vector<double> scores[kRanks] = {{1 * u, 3 * u, 0}, {5 * u, 2 * u}, {}, {4 * u, 1 * u, 2 * u}};
  SoftmaxState<double> own[kRanks], row[kRanks];
  run_ranks(kRanks, [&](ThreadCommunicator& comm) {
    const int r = comm.rank();
    own[r] = online_scan<double>(scores[r]);
    const Matrix<double> view{scores[r], 1, static_cast<Index>(scores[r].size())};
    row[r] = distributed_softmax<double>(comm, view, view)[0];  // in place
  });
  std::printf("\nrank, own m/ln2, own l, m/ln2 of the row, l of the row, weights");
  for (int r = 0; r < kRanks; ++r) {
    std::printf("\n%d %g %g %g %g", r, own[r].max / u, own[r].sum, row[r].max / u, row[r].sum);
    for (const double weight : scores[r]) std::printf(" %.5f", weight);
  }
  std::puts("\n\nranks, exchanges of the chain, of the all-reduce, bytes sent by a rank for 1000 rows");
  for (const int n : {2, 3, 4, 5, 8, 16}) {
    const auto on_a_rank = [n](ThreadCommunicator& comm) {
      std::vector<SoftmaxState<double>> states(1000);
      chain_states<double>(comm, states);
      const double chain = comm.clock(), bytes = double(comm.traffic().bytes_sent);
      distributed_softmax<double>(comm, {{}, 1000, 0}, {{}, 1000, 0});
      if (comm.rank() == 0) std::printf("%d %g %g %g\n", n, chain, comm.clock() - chain, bytes);
    };
    run_ranks(n, on_a_rank, {.link = {.alpha = 1}});
  }
}
