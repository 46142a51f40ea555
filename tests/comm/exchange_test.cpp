// The forms of the ring exchange: right for every world size and seed, in the number of phases that they
// claim.
#include "ringcraft/comm/exchange.hpp"

#include <functional>
#include <vector>

#include "ringcraft/comm/threads.hpp"
#include "support/catch.hpp"
#include "support/messages.hpp"

using namespace ringcraft;
using namespace ringcraft::testing;

namespace {

using Exchange = std::function<void(Communicator&, const RingMessage&)>;

struct Form {
  const char* name;
  Exchange exchange;
};

const std::vector<Form> kForms{
    {"odd-even", exchange_odd_even},
    {"send-receive", exchange_send_recv},
    {"non-blocking", [](Communicator& comm, const RingMessage& m) { start_exchange(comm, m).wait(); }}};

struct Ring {
  std::vector<Bytes> received;
  RanksReport report;
};

// One exchange to the right on n ranks.
Ring run(int n, const Exchange& exchange, SwitchboardOptions options, std::size_t length = 9) {
  Ring ring{std::vector<Bytes>(static_cast<std::size_t>(n), Bytes(length)), {}};
  ring.report = run_ranks(
      n,
      [&](ThreadCommunicator& comm) {
        const Bytes out = message_of(comm.rank(), length);
        exchange(comm, {(comm.rank() + 1) % n, out, (comm.rank() + n - 1) % n,
                        ring.received[static_cast<std::size_t>(comm.rank())]});
      },
      options);
  return ring;
}

// Virtual time with alpha = 1 and free bytes: the number of rendezvous that must happen one after another.
double phases(int n, const Exchange& exchange, std::uint64_t seed) {
  double latest = 0;
  for (const double clock : run(n, exchange, {.delivery_seed = seed, .link = {.alpha = 1}}).report.clock)
    latest = std::max(latest, clock);
  return latest;
}

// A beginner's fix of the deadlock: only rank 0 reverses its order.
void exchange_rank_0_reversed(Communicator& comm, const RingMessage& m) {
  if (comm.rank() == 0) {
    recv(comm, m.recv_rank, m.in);
    send(comm, m.send_rank, m.out);
  } else {
    send(comm, m.send_rank, m.out);
    recv(comm, m.recv_rank, m.in);
  }
}

}  // namespace

TEST_CASE("every rank gets its left neighbour's bytes") {
  for (const Form& form : kForms)
    for (int n = 1; n <= 9; ++n)
      for (std::uint64_t seed = 0; seed < 8; ++seed) {
        CAPTURE(form.name, n, seed);
        const Ring ring = run(n, form.exchange, {.delivery_seed = seed});
        for (int rank = 0; rank < n; ++rank) {
          const auto r = static_cast<std::size_t>(rank);
          CHECK(ring.received[r] == (n == 1 ? Bytes(9) : message_of((rank + n - 1) % n, 9)));
          CHECK(ring.report.traffic[r] == (n == 1 ? Traffic{} : Traffic{9, 9, 1}));
        }
      }
}

TEST_CASE("an exchange of empty messages is no exchange") {
  for (const Form& form : kForms)
    for (int n = 1; n <= 4; ++n) {
      const Ring ring = run(n, form.exchange, {.link = {.alpha = 1}}, 0);
      for (const Traffic& traffic : ring.report.traffic) CHECK(traffic == Traffic{});
      for (const double clock : ring.report.clock) CHECK(clock == 0);
    }
}

TEST_CASE("phases of an exchange") {
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    for (const Form& form : kForms) CHECK(phases(1, form.exchange, seed) == 0);
    for (int n = 2; n <= 9; ++n) {
      CAPTURE(n, seed);
      CHECK(phases(n, exchange_odd_even, seed) == (n % 2 == 0 ? 2 : 3));
      CHECK(phases(n, exchange_send_recv, seed) == 1);
      CHECK(phases(n, kForms[2].exchange, seed) == 1);
      CHECK(phases(n, exchange_rank_0_reversed, seed) == n);
    }
  }
}

TEST_CASE("a non-blocking pair is in flight while the rank computes") {
  constexpr int kRanks = 3;
  std::vector<double> clocks(kRanks);
  run_ranks(kRanks,
            [&](ThreadCommunicator& comm) {
              const Bytes out = message_of(comm.rank(), 10);
              Bytes in(10);
              Pending pending =
                  start_exchange(comm, {(comm.rank() + 1) % kRanks, out, (comm.rank() + 2) % kRanks, in});
              comm.advance(5);  // longer than the transfer of 1 + 10 / 5 = 3
              pending.wait();
              clocks[static_cast<std::size_t>(comm.rank())] = comm.clock();
            },
            {.link = {.alpha = 1, .beta = 5}});
  CHECK(clocks == std::vector<double>{5, 5, 5});
}
