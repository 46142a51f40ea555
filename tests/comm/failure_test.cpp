// Ranks that throw, leave early or disagree: the others end with a report, and run_ranks throws the first
// cause.
#include <stdexcept>
#include <string>
#include <vector>

#include "ringcraft/comm/exchange.hpp"
#include "ringcraft/comm/threads.hpp"
#include "support/catch.hpp"
#include "support/errors.hpp"
#include "support/messages.hpp"
#include "support/told.hpp"

using namespace ringcraft;
using namespace ringcraft::testing;

namespace {

struct Refusal : std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace

TEST_CASE("a rank that throws ends the others with its reason") {
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    Outcome whole;
    const auto sentences = told(
        4,
        [](ThreadCommunicator& comm) {
          if (comm.rank() == 2) throw Refusal("my own reason");
          Bytes in(4);
          recv(comm, comm.rank() == 3 ? 2 : 3, in);  // 0 and 1 wait for 3, which waits for 2
        },
        seed, whole);
    CHECK(whole.sentence == "another exception: my own reason");
    CHECK_FALSE(whole.code);
    for (const std::size_t rank : {0, 1, 3}) CHECK(sentences[rank] == "rank 2 ended with: my own reason");
  }
}

TEST_CASE("the original exception is thrown, with a message still in flight") {
  // The receive that unwinding finds in flight is one that no send will ever match: no rank may take that for
  // a deadlock.
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    Outcome whole;
    const auto sentences = told(
        3,
        [](ThreadCommunicator& comm) {
          Bytes in(4);
          Pending pending = comm.start({recv_from((comm.rank() + 1) % 3, in)});
          if (comm.rank() == 0) throw Refusal("the cause");
          pending.wait();
        },
        seed, whole);
    CHECK(whole.sentence == "another exception: the cause");
    for (const std::size_t rank : {1, 2})
      CHECK(contains(sentences[rank], "rank 0 ended with an exception while messages were under way"));
  }
}

TEST_CASE("exceptions of any type are reported") {
  std::string heard;
  CHECK_THROWS_AS(run_ranks(2,
                            [&](ThreadCommunicator& comm) {
                              if (comm.rank() == 0) throw 42;
                              Bytes in(1);
                              heard = outcome_of([&] { recv(comm, 0, in); }).sentence;
                            }),
                  int);
  CHECK(heard == "rank 0 ended with: an exception of an unknown type");
}

TEST_CASE("a rank that leaves early is reported to the ranks that wait for it") {
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    Outcome whole;
    const auto sentences = told(
        3,
        [](ThreadCommunicator& comm) {
          if (comm.rank() == 0) return;
          Bytes in(5);
          recv(comm, comm.rank() - 1, in);
        },
        seed, whole);
    CHECK(whole.code == Code::kWrongAnswer);
    CHECK(sentences[0].empty());
    for (const std::size_t rank : {1, 2})
      CHECK(sentences[rank] == "rank 1 waits to receive 5 bytes from rank 0, which has already ended");
  }
}

TEST_CASE("ranks that disagree about a length all get a report") {
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    Outcome whole;
    const auto sentences = told(
        4,
        [](ThreadCommunicator& comm) {
          const int n = comm.world_size(), rank = comm.rank();
          Bytes out(rank == 2 ? 10 : 8), in(8);
          exchange_send_recv(comm, {(rank + 1) % n, out, (rank + n - 1) % n, in});
          exchange_send_recv(comm, {(rank + 1) % n, in, (rank + n - 1) % n, in});
        },
        seed, whole);
    CHECK(whole.sentence == "rank 2 sends 10 bytes to rank 3, which expects 8");
    for (const std::size_t rank : {2, 3}) CHECK(sentences[rank] == whole.sentence);
  }
}

TEST_CASE("a failed exchange stays failed for a rank that caught it") {
  const Outcome whole = outcome_of([] {
    run_ranks(2, [](ThreadCommunicator& comm) {
      Bytes bytes(1);
      if (comm.rank() == 0) {
        if (outcome_of([&] { recv(comm, 1, bytes); }).code != Code::kWrongAnswer) throw Refusal("no report");
        if (!contains(outcome_of([&] { send(comm, 1, bytes); }).sentence, "has already ended"))
          throw Refusal("no memory");
      }
    });
  });
  CHECK(whole.sentence == "nothing thrown");
}

TEST_CASE("refused peers on thread ranks") {
  check_refused([] { run_ranks(2, [](ThreadCommunicator& comm) { send(comm, comm.rank(), Bytes(1)); }); },
                "a rank does not message itself");
  check_refused([] { run_ranks(1, [](ThreadCommunicator& comm) { send(comm, 1, Bytes(1)); }); },
                "got rank 1");
  check_refused([] { run_ranks(0, [](ThreadCommunicator&) {}); }, "ranks: expected at least 1, got 0");
  check_refused([] { run_ranks(-2, [](ThreadCommunicator&) {}); }, "got -2");
}

TEST_CASE("the report of a run") {
  const RanksReport report = run_ranks(3,
                                       [](ThreadCommunicator& comm) {
                                         if (comm.world_size() != 3 || comm.space() != Space::kHost)
                                           throw Refusal("wrong world");
                                         Buffer buffer({1, 1, 10, 1}, DType::kFloat32);
                                         if (comm.rank() == 0)
                                           comm.start({send_to(1, buffer), send_to(2, Bytes(3))}).wait();
                                         if (comm.rank() == 1) comm.start({recv_from(0, buffer)}).wait();
                                         Bytes three(3);
                                         if (comm.rank() == 2) comm.start({recv_from(0, three)}).wait();
                                         comm.advance(comm.rank());
                                       },
                                       {});
  CHECK(report.traffic == std::vector<Traffic>{{43, 0, 2}, {0, 40, 0}, {0, 3, 0}});
  CHECK(report.clock == std::vector<double>{0, 1, 2});
  CHECK(report.peak_bytes == std::vector<Index>{40, 40, 40});
}

TEST_CASE("more ranks than a process should have threads are refused before the first is started") {
  check_refused([] { run_ranks(1'000'000'000, [](ThreadCommunicator&) {}); },
                "ranks: expected at most 4096 threads, got 1000000000");
}
