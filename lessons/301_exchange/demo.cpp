// Lesson 301: forms of the ring exchange in virtual time. A message takes 1 from the moment when both sides
// are there, so the clock at the end counts phases.
#include <algorithm>
#include <cstdio>
#include <functional>
#include <string>

#include "ringcraft/comm/exchange.hpp"
#include "ringcraft/comm/threads.hpp"
#include "ringcraft/core/error.hpp"
using namespace ringcraft;
using Exchange = std::function<void(ThreadCommunicator&, const RingMessage&)>;

// One exchange of messages of `bytes` bytes on n ranks: its phases, or "deadlock".
std::string phases(int n, const Exchange& exchange, std::size_t bytes = 8) try {
  const auto on_a_rank = [&](ThreadCommunicator& comm) {
    std::vector<std::byte> out(bytes), in(bytes);
    exchange(comm, {(comm.rank() + 1) % n, out, (comm.rank() + n - 1) % n, in});
  };
  return std::to_string(int(std::ranges::max(run_ranks(n, on_a_rank, {.link = {.alpha = 1}}).clock)));
} catch (const Error& error) {
  return std::string(error.what(), 8);  // "deadlock"
}

// All send first, on a transport that copies up to 4096 bytes aside: such a send returns at once.
void copied_aside(ThreadCommunicator& comm, const RingMessage& m) {
  Pending sent = comm.start({send_to(m.send_rank, m.out)});
  if (m.out.size() > 4096) sent.wait();
  recv(comm, m.recv_rank, m.in);
}

void rank_0_reversed(ThreadCommunicator& comm, const RingMessage& m) {
  if (comm.rank() == 0) recv(comm, m.recv_rank, m.in);
  send(comm, m.send_rank, m.out);
  if (comm.rank() != 0) recv(comm, m.recv_rank, m.in);
}

int main() {
  const Exchange forms[] = {exchange_all_send_first, rank_0_reversed, exchange_odd_even, exchange_send_recv};
  std::puts("ranks  all_send_first  rank_0_reversed         odd_even        send_recv");
  for (int n = 2; n <= 9; ++n) {
    std::printf("%5d", n);
    for (const Exchange& form : forms) std::printf(" %16s", phases(n, form).c_str());
    std::puts("");
  }
  std::puts("\nbytes, all send first, up to 4096 copied aside");
  for (int bytes : {64, 4096, 4097}) std::printf("%5d %s\n", bytes, phases(4, copied_aside, bytes).c_str());
  std::puts("\nodd/even: ranks, rank, when its send and its receive are done");
  for (int n : {4, 5}) {
    double sent[5], received[5];
    phases(n, [&](ThreadCommunicator& comm, const RingMessage& m) {
      for (const bool sends : {comm.rank() % 2 == 0, comm.rank() % 2 == 1}) {
        sends ? send(comm, m.send_rank, m.out) : recv(comm, m.recv_rank, m.in);
        double* const done = sends ? sent : received;
        done[comm.rank()] = comm.clock();
      }
    });
    for (int rank = 0; rank < n; ++rank) std::printf("%d %d %g %g\n", n, rank, sent[rank], received[rank]);
  }
}
