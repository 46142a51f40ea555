// The trace that the base classes record: only on request, complete, with both clocks, and equal to the
// counters.
#include "ringcraft/comm/trace.hpp"

#include "ringcraft/comm/exchange.hpp"
#include "ringcraft/comm/threads.hpp"
#include "support/catch.hpp"
#include "support/errors.hpp"
#include "support/messages.hpp"

using namespace ringcraft;
using namespace ringcraft::testing;

namespace {

// Bytes of the sends, or of the receives, of one rank's trace.
Index bytes_of(const RankTrace& trace, Op::Kind kind) {
  Index sum = 0;
  for (const TraceEvent& event : trace.events())
    for (const TracedMessage& message : event.messages) sum += message.kind == kind ? message.bytes.size : 0;
  return sum;
}

}  // namespace

TEST_CASE("traced bytes overlap where they share a byte") {
  const TracedBytes a(100, 10);
  CHECK(a.end() == 110);
  for (const TracedBytes other :
       {TracedBytes(100, 10), TracedBytes(90, 11), TracedBytes(109, 1), TracedBytes(103, 2)}) {
    CHECK(a.overlaps(other));
    CHECK(other.overlaps(a));
  }
  for (const TracedBytes other :
       {TracedBytes(90, 10), TracedBytes(110, 5), TracedBytes(105, 0), TracedBytes()}) {
    CHECK_FALSE(a.overlaps(other));
    CHECK_FALSE(other.overlaps(a));
  }
}

TEST_CASE("nothing is recorded that was not asked for") {
  Trace trace(3);
  run_ranks(3, [&](ThreadCommunicator& comm) {
    const int next = (comm.rank() + 1) % 3, previous = (comm.rank() + 2) % 3;
    const Bytes out = message_of(comm.rank(), 8);
    Bytes in(8);
    exchange_send_recv(comm, {next, out, previous, in});
    comm.record(&trace.rank(comm.rank()));
    exchange_send_recv(comm, {next, out, previous, in});
    Pending across = start_exchange(comm, {next, out, previous, in});
    comm.record(nullptr);
    across.wait();
    exchange_send_recv(comm, {next, out, previous, in});
    Pending before = start_exchange(comm, {next, out, previous, in});
    comm.record(&trace.rank(comm.rank()));
    before.wait();  // its start was not recorded, so neither is this
    comm.record(nullptr);
  });
  for (int rank = 0; rank < 3; ++rank) {
    const auto& events = trace.rank(rank).events();
    REQUIRE(events.size() == 3);
    CHECK(events[0].kind == TraceEvent::kStart);
    CHECK(events[1].kind == TraceEvent::kWait);
    CHECK(events[1].waits_for == 0);
    CHECK(events[2].kind == TraceEvent::kStart);
  }
}

TEST_CASE("a trace holds every message with its peer and memory, and its totals are the traffic") {
  Trace trace(3);
  std::vector<std::vector<const std::byte*>> memory(3);
  const RanksReport report = run_ranks(3, [&](ThreadCommunicator& comm) {
    const auto self = static_cast<std::size_t>(comm.rank());
    const int next = (comm.rank() + 1) % 3, previous = (comm.rank() + 2) % 3;
    const Bytes out = message_of(comm.rank(), 5 + self), nothing;
    Bytes in(5 + static_cast<std::size_t>(previous)), none;
    memory[self] = {out.data(), in.data()};
    comm.record(&trace.rank(comm.rank()));
    comm.start(
            {send_to(next, out), recv_from(previous, in), send_to(next, nothing), recv_from(previous, none)})
        .wait();
    comm.start({send_to(next, nothing), recv_from(previous, none)}).wait();  // empty messages vanish
  });
  for (int rank = 0; rank < 3; ++rank) {
    const auto& events = trace.rank(rank).events();
    REQUIRE(events.size() == 2);
    REQUIRE(events[0].messages.size() == 2);
    const auto &send = events[0].messages[0], &recv = events[0].messages[1];
    CHECK(send.kind == Op::kSend);
    CHECK(send.peer == (rank + 1) % 3);
    CHECK(send.bytes == TracedBytes(reinterpret_cast<std::uintptr_t>(memory[rank][0]), 5 + rank));
    CHECK(recv.kind == Op::kRecv);
    CHECK(recv.peer == (rank + 2) % 3);
    CHECK(recv.bytes == TracedBytes(reinterpret_cast<std::uintptr_t>(memory[rank][1]), 5 + (rank + 2) % 3));
    CHECK(bytes_of(trace.rank(rank), Op::kSend) == report.traffic[rank].bytes_sent);
    CHECK(bytes_of(trace.rank(rank), Op::kRecv) == report.traffic[rank].bytes_received);
  }
}

TEST_CASE("events carry real time, virtual time and live memory") {
  Trace trace(2);
  run_ranks(2,
            [&](ThreadCommunicator& comm) {
              RankTrace& mine = trace.rank(comm.rank());
              comm.record(&mine);
              mine.use_clock(&comm);
              const Buffer held({1, 1, 3, 5}, DType::kFloat64);
              const Bytes out = message_of(comm.rank(), 10);
              Bytes in(10);
              Pending exchange = start_exchange(comm, {1 - comm.rank(), out, 1 - comm.rank(), in});
              comm.advance(comm.rank() == 0 ? 2 : 3);
              exchange.wait();
            },
            {.link = {.alpha = 5, .beta = 10}});
  for (int rank = 0; rank < 2; ++rank) {
    const auto& events = trace.rank(rank).events();
    REQUIRE(events.size() == 2);
    CHECK(events[0].begin.virtual_ == 0);
    CHECK(events[0].end.virtual_ == 0);
    CHECK(events[1].begin.virtual_ == (rank == 0 ? 2 : 3));
    CHECK(events[1].end.virtual_ == 6);  // both sides posted at 0: alpha + 10 bytes / beta
    CHECK(events[0].begin.wall >= 0);
    for (const TraceEvent& event : events) {
      CHECK(event.begin.wall <= event.end.wall);
      CHECK(event.ended);
      CHECK(event.live_bytes == 3 * 5 * 8);
    }
    CHECK(events[0].end.wall <= events[1].begin.wall);
  }
}

TEST_CASE("operations cut off by a deadlock are in the trace, and are marked") {
  Trace trace(3);
  const Outcome outcome = outcome_of([&] {
    run_ranks(3, [&](ThreadCommunicator& comm) {
      comm.record(&trace.rank(comm.rank()));
      const Bytes out = message_of(comm.rank(), 4);
      Bytes in(4);
      exchange_all_send_first(comm, {(comm.rank() + 1) % 3, out, (comm.rank() + 2) % 3, in});
    });
  });
  CHECK(contains(outcome.sentence, "deadlock"));
  for (int rank = 0; rank < 3; ++rank) {
    const auto& events = trace.rank(rank).events();
    REQUIRE_FALSE(events.empty());
    CHECK(events.front().kind == TraceEvent::kStart);
    CHECK_FALSE(events.back().ended);
  }
}
