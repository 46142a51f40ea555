// Ranks as fibers report what ranks as threads report: traffic, clocks, memory, deadlocks and exceptions.
#include "ringcraft/comm/fibers/fibers.hpp"

#include <exception>
#include <string>
#include <vector>

#include "ringcraft/comm/collectives.hpp"
#include "ringcraft/comm/exchange.hpp"
#include "support/catch.hpp"
#include "support/errors.hpp"
#include "support/messages.hpp"

using namespace ringcraft;
using namespace ringcraft::testing;

namespace {

using Body = std::function<void(ThreadCommunicator&)>;

// Both kinds of ranks, with the same board.
void check_same(int n, const Body& body, const SwitchboardOptions& options) {
  const RanksReport threads = run_ranks(n, body, options), fibers = run_fibers(n, body, options);
  CHECK(fibers.traffic == threads.traffic);
  CHECK(fibers.clock == threads.clock);
  CHECK(fibers.peak_bytes == threads.peak_bytes);
}

std::string failure_of(int n, const Body& body) {
  return outcome_of([&] { run_fibers(n, body); }).sentence;
}

void ring_exchange(ThreadCommunicator& comm) {
  const int n = comm.world_size(), rank = comm.rank();
  for (int step = 0; step < 5; ++step) {
    const Buffer out({1, 1, 3 + step, 2}, DType::kFloat32);
    Buffer in({1, 1, 3 + step, 2}, DType::kFloat32);
    Pending exchange = start_exchange(comm, {(rank + 1) % n, out.bytes(), (rank + n - 1) % n, in.bytes()});
    comm.advance(rank % 3);
    exchange.wait();
  }
}

}  // namespace

TEST_CASE("fibers report what threads report") {
  for (const int n : {1, 2, 3, 8, 17})
    for (const std::uint64_t seed : {0, 1, 2}) {
      CAPTURE(n, seed);
      check_same(n, ring_exchange, {.delivery_seed = seed, .link = {.alpha = 0.25, .beta = 64}});
      check_same(n,
                 [](ThreadCommunicator& comm) {
                   const Bytes own = message_of(comm.rank(), 5);
                   Bytes all(own.size() * static_cast<std::size_t>(comm.world_size()));
                   all_gather(comm, own, all);
                   for (int rank = 0; rank < comm.world_size(); ++rank)
                     if (!std::equal(all.begin() + 5 * rank, all.begin() + 5 * (rank + 1),
                                     message_of(rank, 5).begin()))
                       throw Error("wrong bytes");
                 },
                 {.delivery_seed = seed, .link = {.alpha = 1}});
    }
}

TEST_CASE("a deadlock of fibers is the sentence of the cycle") {
  if (!has_fibers()) return;  // threads take turns in any order
  const std::string sentence = failure_of(3, [](ThreadCommunicator& comm) {
    const Bytes out(4);
    Bytes in(4);
    exchange_all_send_first(comm, {(comm.rank() + 1) % 3, out, (comm.rank() + 2) % 3, in});
  });
  CHECK(count_of(sentence, "waits to send 4 bytes") == 3);
  CHECK(contains(sentence,
                 "deadlock: rank 2 waits to send 4 bytes to rank 0"));  // the last turn closes the cycle
}

TEST_CASE("the exception of the fiber that fails first comes out, and all end") {
  if (!has_fibers()) return;  // threads take turns in any order
  int ended = 0;
  const auto fails = [&](ThreadCommunicator& comm) {
    struct End {
      int& count;
      ~End() { ++count; }
    } const end{ended};
    if (comm.rank() == 2) throw Error("out of ideas");
    Bytes in(1);
    recv(comm, (comm.rank() + 1) % 4, in);
  };
  CHECK(failure_of(4, fails) == "out of ideas");
  CHECK(ended == 4);
  CHECK(contains(failure_of(2,
                            [](ThreadCommunicator& comm) {
                              Bytes in(1);
                              if (comm.rank() == 0) recv(comm, 1, in);
                            }),
                 "rank 0 waits to receive 1 bytes from rank 1, which has already ended"));
  check_refused([] { run_fibers(0, [](ThreadCommunicator&) {}); }, "ranks: expected at least 1, got 0");
}

TEST_CASE("a fiber that waits while it handles an exception keeps it") {
  run_fibers(8, [](ThreadCommunicator& comm) {
    const std::string own = "rank " + std::to_string(comm.rank());
    try {
      throw Error(own);
    } catch (const Error&) {
      ring_exchange(comm);
      const Outcome again = outcome_of([] { throw; });
      if (again.sentence != own) throw Error("caught " + again.sentence + " on " + own);
    }
    if (std::uncaught_exceptions() != 0) throw Error("an exception is left");
  });
}

TEST_CASE("a meter inside of a fiber counts that fiber alone") {
  std::vector<Index> peaks(4);
  const RanksReport report = run_fibers(4, [&](ThreadCommunicator& comm) {
    const auto meter = std::make_shared<MemoryMeter>();
    const MeterScope scope(meter);
    const Buffer held({1, 1, 10 * (comm.rank() + 1), 1}, DType::kFloat64);
    ring_exchange(comm);
    peaks[static_cast<std::size_t>(comm.rank())] = meter->peak();
  });
  CHECK(peaks == std::vector<Index>{80 + 112, 160 + 112, 240 + 112, 320 + 112});
  CHECK(report.peak_bytes == std::vector<Index>(4, 0));
  CHECK(MeterScope::current() == nullptr);
}

TEST_CASE("fibers whose messages are given up, or arrive as another one fails, learn what threads learn") {
  if (!has_fibers()) return;
  std::string heard;
  const std::string given_up = failure_of(2, [&](ThreadCommunicator& comm) {
    Bytes in(4);
    if (comm.rank() == 1) {
      const Pending never = comm.start({recv_from(0, in)});
      throw Error("gave up");
    }
    try {
      recv(comm, 1, in);
    } catch (const std::exception& error) {
      heard = error.what();
      throw;
    }
  });
  CHECK(given_up == "gave up");
  CHECK(contains(heard, "rank 1 ended with an exception while messages were under way"));

  int received = 0;  // rank 0 has its message when rank 1 fails, and takes its turn once
  const std::string failed = failure_of(2, [&](ThreadCommunicator& comm) {
    Bytes in(4);
    if (comm.rank() == 0) {
      recv(comm, 1, in);
      ++received;
    } else {
      send(comm, 0, Bytes(4));
      throw Error("just after");
    }
  });
  CHECK(failed == "just after");
  CHECK(received == 1);
}
