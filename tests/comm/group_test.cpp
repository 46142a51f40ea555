// Groups: ranks are translated, and nothing else. Collectives, order, clocks, traces, deadlocks and failures
// are those of the communicator below, whose ranks they name.
#include "ringcraft/comm/group.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>

#include "ringcraft/comm/collectives.hpp"
#include "ringcraft/comm/exchange.hpp"
#include "ringcraft/comm/threads.hpp"
#include "ringcraft/comm/trace.hpp"
#include "support/catch.hpp"
#include "support/errors.hpp"
#include "support/messages.hpp"
#include "support/told.hpp"

using namespace ringcraft;
using namespace ringcraft::testing;

namespace {

struct Cause : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Throws where a rank finds something wrong: Catch2's own assertions belong to one thread.
void require(bool right, const char* what) {
  if (!right) throw Cause(what);
}

// Row and column of a rank, in rows of `degree`.
std::vector<int> row_of(int rank, int degree) {
  std::vector<int> row;
  for (int i = 0; i < degree; ++i) row.push_back(rank - rank % degree + i);
  return row;
}
std::vector<int> column_of(int rank, int degree, int world_size) {
  std::vector<int> column;
  for (int r = rank % degree; r < world_size; r += degree) column.push_back(r);
  return column;
}

int next(const Communicator& comm) { return (comm.rank() + 1) % comm.world_size(); }
int previous(const Communicator& comm) { return (comm.rank() + comm.world_size() - 1) % comm.world_size(); }

// All-gathers over a group, and compares with the members' bytes in the order of the group.
void gather_over(Communicator& comm, int own, const std::vector<int>& members, std::size_t length) {
  Bytes all(members.size() * length), want;
  for (const int member : members) {
    const Bytes theirs = message_of(member, length);
    want.insert(want.end(), theirs.begin(), theirs.end());
  }
  all_gather(comm, message_of(own, length), all);
  require(all == want, "other bytes");
}

// The sentence that each rank gets, and that of the whole run.
std::vector<std::string> told(int n, const std::function<void(ThreadCommunicator&)>& body, std::string& whole,
                              std::uint64_t seed = 0) {
  Outcome outcome;
  std::vector<std::string> sentences = testing::told(n, body, seed, outcome);
  whole = outcome.sentence;
  return sentences;
}

}  // namespace

TEST_CASE("a group has its own ranks, and its own size") {
  run_ranks(5, [](ThreadCommunicator& comm) {
    if (comm.rank() % 2 == 1) return;
    const std::vector<int> members{4, 0, 2};
    const Group group(comm, members);
    require(group.world_size() == 3 && group.space() == comm.space(), "size and space");
    require(group.world_from_group(group.rank()) == comm.rank(), "the own rank");
    for (int rank = 0; rank < 3; ++rank)
      require(group.world_from_group(rank) == members[static_cast<std::size_t>(rank)], "members");
  });
}

TEST_CASE("a collective over rows and columns of a grid, one after the other") {
  for (const auto& [n, degree] : {std::pair{6, 2}, {6, 3}, {4, 1}, {4, 4}, {8, 4}, {1, 1}})
    for (std::uint64_t seed = 0; seed < 10; ++seed) {
      CAPTURE(n, degree, seed);
      const RanksReport report = run_ranks(
          n,
          [n = n, degree = degree](ThreadCommunicator& comm) {
            for (const auto& members : {row_of(comm.rank(), degree), column_of(comm.rank(), degree, n)}) {
              Group group(comm, members);
              gather_over(group, comm.rank(), members, 5);
              const auto bytes = static_cast<Index>(5 * (members.size() - 1));
              require(group.traffic().bytes_sent == bytes, "traffic of the group");
            }
          },
          {.delivery_seed = seed});
      for (const Traffic& traffic : report.traffic)
        CHECK(traffic.bytes_sent == 5 * (degree - 1 + n / degree - 1));
    }
}

TEST_CASE("a group keeps the order that it is given") {
  for (const std::vector<int>& members : {std::vector<int>{3, 1, 2}, {2, 3, 1}, {1, 2, 3}})
    run_ranks(4, [&](ThreadCommunicator& comm) {
      if (comm.rank() == 0) return;  // not a member
      Group group(comm, members);
      gather_over(group, comm.rank(), members, 7);
    });
}

TEST_CASE("groups of groups translate twice") {
  // 8 ranks: the even ones backwards, 6 4 2 0; of these the second half, which are ranks 2 and 0 of the
  // world.
  const RanksReport report = run_ranks(8, [](ThreadCommunicator& comm) {
    if (comm.rank() % 2 == 1) return;
    Group even(comm, {6, 4, 2, 0});
    if (even.rank() < 2) return;
    Group half(even, {2, 3});
    require(even.world_from_group(half.world_from_group(0)) == 2, "the first is rank 2");
    require(half.rank() == (comm.rank() == 2 ? 0 : 1), "the own rank");
    gather_over(half, comm.rank(), {2, 0}, 9);
  });
  for (int rank = 0; rank < 8; ++rank)
    CHECK(report.traffic[static_cast<std::size_t>(rank)].bytes_sent == (rank == 0 || rank == 2 ? 9 : 0));
}

TEST_CASE("a group that cannot be is refused by the rank that makes it") {
  const auto refused = [](std::vector<int> members, const std::string& sentence) {
    check_refused(
        [&] {
          run_ranks(3, [&](ThreadCommunicator& comm) {
            if (comm.rank() == 1) Group(comm, members);
          });
        },
        sentence);
  };
  const std::string expected = "group of rank 1: expected distinct ranks of 0 to 2, this one included, got ";
  refused({0, 2}, expected + "0, 2; give every member the same list, in the same order");
  refused({0, 1, 0}, expected + "0, 1, 0");
  refused({1, 1}, expected + "1, 1");
  refused({1, 3}, expected + "1, 3");
  refused({-1, 1}, expected + "-1, 1");
  refused({}, expected + "none");
}

TEST_CASE("peers are refused in the numbers of the group") {
  check_refused(
      [] {
        run_ranks(4, [](ThreadCommunicator& comm) {
          if (comm.rank() < 2) return;
          Group group(comm, {2, 3});
          send(group, 2, Bytes(1));  // rank 2 of the world is rank 0 here
        });
      },
      "expected another rank of 0 to 1, got rank 2");
}

TEST_CASE("a deadlock over groups names the ranks of the communicator below") {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    std::string whole;
    told(
        5,
        [](ThreadCommunicator& comm) {
          if (comm.rank() < 3) return;
          Group group(comm, {3, 4});
          exchange_all_send_first(group, {next(group), message_of(0, 3), previous(group), {}});
        },
        whole, seed);
    CHECK(count_of(whole, "rank 3 waits to send 3 bytes to rank 4") == 1);
    CHECK(count_of(whole, "rank 4 waits to send 3 bytes to rank 3") == 1);
  }
}

TEST_CASE("a cycle of waits across two groups is found") {
  // Rank 0 waits in its row for 1, which waits in its column for 3, which waits in its row for 2, and that in
  // its column for 0.
  std::string whole;
  told(
      4,
      [](ThreadCommunicator& comm) {
        const bool along_row = comm.rank() == 0 || comm.rank() == 3;
        Group group(comm, along_row ? row_of(comm.rank(), 2) : column_of(comm.rank(), 2, 4));
        Bytes in(2);
        recv(group, next(group), in);
      },
      whole);
  for (const char* link :
       {"rank 0 waits to receive 2 bytes from rank 1", "rank 1 waits to receive 2 bytes from rank 3",
        "rank 3 waits to receive 2 bytes from rank 2", "rank 2 waits to receive 2 bytes from rank 0"})
    CHECK(contains(whole, link));
}

TEST_CASE("a trace of the communicator below holds what goes through groups, with its ranks") {
  Trace below(6), own(6);
  run_ranks(6, [&](ThreadCommunicator& comm) {
    comm.record(&below.rank(comm.rank()));
    const std::vector<int> members = column_of(comm.rank(), 2, 6);
    Group group(comm, members);
    group.record(&own.rank(comm.rank()));
    const Bytes out = message_of(comm.rank(), 4);
    Bytes in(4);
    exchange_send_recv(group, {next(group), out, previous(group), in});
  });
  for (int rank = 0; rank < 6; ++rank) {
    CAPTURE(rank);
    for (const Trace* trace : {&below, &own}) {
      const auto& events = trace->rank(rank).events();
      REQUIRE(events.size() == 2);
      CHECK(events[1].kind == TraceEvent::kWait);
      CHECK(events[1].ended);
      REQUIRE(events[0].messages.size() == 2);
      for (const TracedMessage& message : events[0].messages) {
        const bool on = message.kind == Op::kSend;
        CHECK(message.peer == (trace == &below ? (rank + (on ? 2 : 4)) % 6 : (rank / 2 + (on ? 1 : 2)) % 3));
      }
    }
  }
}

TEST_CASE("a rank that throws ends those that wait for it in a group") {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    std::string whole;
    const auto sentences = told(
        4,
        [](ThreadCommunicator& comm) {
          if (comm.rank() < 2) return;
          Group row(comm, row_of(comm.rank(), 2));
          if (comm.rank() == 3) throw Cause("my own reason");
          Bytes in(4);
          recv(row, next(row), in);
        },
        whole, seed);
    CHECK(sentences[2] == "rank 3 ended with: my own reason");
    CHECK(whole == "another exception: my own reason");
  }
}

TEST_CASE(
    "an exception with messages of two groups in flight ends all others, and is the one that is thrown") {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    std::string whole;
    const auto sentences = told(
        4,
        [](ThreadCommunicator& comm) {
          Group row(comm, row_of(comm.rank(), 2)), column(comm, column_of(comm.rank(), 2, 4));
          Bytes from_row(4), from_column(4);
          // All wait for rank 0 in the end, and none in a cycle.
          const bool throws = comm.rank() == 0;
          Pending first, second;
          if (throws || row.rank() == 1) first = row.start({recv_from(next(row), from_row)});
          if (throws || column.rank() == 1) second = column.start({recv_from(next(column), from_column)});
          if (throws) throw Cause("the cause");
          second.wait();
          first.wait();
        },
        whole, seed);
    CHECK(whole == "another exception: the cause");
    for (const std::size_t rank : {1, 2, 3})
      CHECK(contains(sentences[rank], "rank 0 ended with an exception while messages were under way"));
  }
}

TEST_CASE("messages of two groups are in flight together, and are waited for in any order") {
  for (const bool row_first : {true, false})
    for (std::uint64_t seed = 0; seed < 30; ++seed)
      run_ranks(6,
                [&](ThreadCommunicator& comm) {
                  Group row(comm, row_of(comm.rank(), 3)), column(comm, column_of(comm.rank(), 3, 6));
                  const Bytes out = message_of(comm.rank(), 6);
                  Bytes from_row(6), from_column(6), again(6);
                  Pending along = start_exchange(row, {next(row), out, previous(row), from_row});
                  Pending across = start_exchange(column, {next(column), out, previous(column), from_column});
                  Pending more = start_exchange(row, {previous(row), out, next(row), again});
                  (row_first ? along : across).wait();
                  more.wait();
                  (row_first ? across : along).wait();
                  require(from_row == message_of(row.world_from_group(previous(row)), 6), "from the row");
                  require(from_column == message_of(column.world_from_group(previous(column)), 6),
                          "from the column");
                  require(again == message_of(row.world_from_group(next(row)), 6), "from the row again");
                },
                {.delivery_seed = seed});
}

TEST_CASE("messages of a pair stay in order, through a group and past it") {
  for (std::uint64_t seed = 0; seed < 30; ++seed)
    run_ranks(3,
              [](ThreadCommunicator& comm) {
                if (comm.rank() == 0) return;
                Group group(comm, {2, 1});
                const int peer = 3 - comm.rank();
                if (comm.rank() == 1) {
                  send(group, 0, message_of(1, 4, 0));
                  send(comm, peer, message_of(1, 4, 1));
                  send(group, 0, message_of(1, 4, 2));
                } else {
                  Bytes in(4);
                  for (const int number : {0, 1, 2}) {
                    number == 1 ? recv(group, 1, in) : recv(comm, peer, in);
                    require(in == message_of(1, 4, number), "another message");
                  }
                }
              },
              {.delivery_seed = seed});
}

TEST_CASE("a group has the clock of the communicator below, and its messages cost the same") {
  const RanksReport report =
      run_ranks(4,
                [](ThreadCommunicator& comm) {
                  Group column(comm, column_of(comm.rank(), 2, 4));
                  comm.advance(comm.rank());
                  require(column.clock() == comm.rank(), "the clock");
                  const Bytes out(10);
                  Bytes in(10);
                  exchange_send_recv(column, {next(column), out, previous(column), in});
                  require(column.clock() == comm.clock(), "one clock");
                },
                {.link = {.alpha = 5, .beta = 10}});
  CHECK(report.clock == std::vector<double>{8, 9, 8, 9});  // the later of 0 and 2, or of 1 and 3, and 5 + 1
}

TEST_CASE("a group of one rank exchanges nothing") {
  run_ranks(2, [](ThreadCommunicator& comm) {
    Group alone(comm, {comm.rank()});
    Bytes all(3);
    all_gather(alone, message_of(comm.rank(), 3), all);
    require(all == message_of(comm.rank(), 3), "the own bytes");
    require(alone.traffic() == Traffic{}, "no traffic");
  });
}

TEST_CASE("a rank that a group has not is refused") {
  run_ranks(3, [](ThreadCommunicator& comm) {
    const Group group(comm, {2, 0, 1});
    for (const int rank : {-1, 3, 1 << 30}) {
      const Outcome outcome = outcome_of([&] { (void)group.world_from_group(rank); });
      require(contains(outcome.sentence, "rank of a group: expected 0 to 2, got " + std::to_string(rank)),
              "the refusal");
    }
  });
}
