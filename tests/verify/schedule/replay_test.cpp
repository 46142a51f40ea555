// Replays of traces written by hand: the places of keys and values, and steps that no ring of the library
// takes.
#include "verify/schedule/replay.hpp"

#include "support/catch.hpp"
#include "support/errors.hpp"
#include "verify/schedule/schedule.hpp"

namespace ringcraft::verify {
namespace {

constexpr Index kBytes = 64;

// Memory of a rank by a small number; memories do not touch.
TracedBytes memory(int number) { return {0x1000 + static_cast<std::uintptr_t>(number) * 0x100, kBytes}; }

// Two ranks with two tokens each, every pair visible; events are added by hand.
struct Hand {
  Problem problem = make_problem({.seqlen = 4, .head_dim = 4}, full_mask(), Layout::kContiguous, 2);
  Trace trace{2};

  std::size_t add(int rank, TraceEvent event) {
    const std::size_t number = trace.rank(rank).begin(std::move(event));
    trace.rank(rank).end(number);
    return number;
  }
  void holds(int rank, const char* name, int owner, int where) {
    TraceEvent event;
    event.owner = owner;
    event.tensors = {{name, TracedTensor::kWrite, memory(where)}};
    add(rank, event);
  }
  TraceEvent block(TraceEvent::Kind kind, int rank, int label, int k, int v) {
    const KeyRanges ranges = key_ranges(problem, rank, label);
    TraceEvent event;
    event.kind = kind;
    event.key_begin = ranges.begin;
    event.key_end = ranges.end;
    event.pairs = ranges.pairs();
    event.tensors = {{"k", TracedTensor::kRead, memory(k)}, {"v", TracedTensor::kRead, memory(v)}};
    return event;
  }
  std::size_t start(int rank, std::vector<TracedMessage> messages) {
    TraceEvent event;
    event.kind = TraceEvent::kStart;
    event.messages = std::move(messages);
    return add(rank, event);
  }
  void wait(int rank, std::size_t start) {
    TraceEvent event;
    event.kind = TraceEvent::kWait;
    event.waits_for = start;
    add(rank, event);
  }
  std::string said() const {
    std::string lines;
    for (const Violation& violation : replay(trace, problem).violations) lines += violation.sentence + "\n";
    return lines;
  }
};

}  // namespace

TEST_CASE("keys and values must be those of one block, each in its place") {
  const auto said = [](int k, int v) {
    Hand hand;
    hand.holds(0, "k", 0, 1);
    hand.holds(0, "v", 0, 2);
    hand.holds(0, "k", 1, 3);
    hand.holds(0, "v", 1, 4);
    hand.add(0, hand.block(TraceEvent::kForward, 0, 0, k, v));
    return hand.said();
  };
  CHECK(said(1, 2) == "");
  CHECK(said(1, 4) == "rank 0, step 0: computes with K0 as keys and V1 as values\n");
  CHECK(said(3, 2) == "rank 0, step 0: computes with K1 as keys and V0 as values\n");
  CHECK(said(2, 2) == "rank 0, step 0: computes with V0 as keys and V0 as values\n");
  CHECK(said(1, 1) == "rank 0, step 0: computes with K0 as keys and K0 as values\n");
  CHECK(said(1, 5) ==
        "rank 0, step 0: computes with K0 as keys and memory that nothing was put into as values\n");
}

TEST_CASE("a block that comes in pieces is whole when all are there") {
  const auto said = [](bool second_half) {
    Hand hand;
    hand.holds(0, "k", 0, 1);
    hand.holds(1, "v", 0, 2);
    const auto half = [](int where, Index from) {
      return TracedBytes(memory(where).address + static_cast<std::uintptr_t>(from), kBytes / 2);
    };
    std::vector<TracedMessage> sends{{Op::kSend, 1, half(1, 0)}}, recvs{{Op::kRecv, 0, half(3, 0)}};
    if (second_half) {
      sends.push_back({Op::kSend, 1, half(1, kBytes / 2)});
      recvs.push_back({Op::kRecv, 0, half(3, kBytes / 2)});
    }
    hand.wait(0, hand.start(0, sends));
    hand.wait(1, hand.start(1, recvs));
    hand.add(1, hand.block(TraceEvent::kForward, 1, 0, 3, 2));
    return hand.said();
  };
  CHECK(said(true) == "");
  CHECK(said(false) ==
        "rank 1, step 0: computes with memory that nothing was put into as keys and V0 as values\n");
}

TEST_CASE("a message that carries two tensors is known by both") {
  Hand hand;
  TraceEvent keys, values;
  keys.tensors = {{"k", TracedTensor::kWrite, {0x1000, kBytes}}};
  values.tensors = {{"v", TracedTensor::kWrite, {0x1000 + kBytes, kBytes}}};
  hand.add(0, keys);
  hand.add(0, values);
  const std::size_t send = hand.start(0, {{Op::kSend, 1, {0x1000, 2 * kBytes}}});
  hand.wait(0, send);
  hand.wait(1, hand.start(1, {{Op::kRecv, 0, {0x5000, 2 * kBytes}}}));
  const Replay replayed = replay(hand.trace, hand.problem);
  CHECK(replayed.violations.empty());
  CHECK(replayed.complete);
  CHECK(replayed.events[0][send].labels == std::vector<std::string>{"K0 and V0"});
}

TEST_CASE("both sides of a message must agree about its length") {
  Hand hand;
  hand.holds(0, "k", 0, 1);
  hand.wait(0, hand.start(0, {{Op::kSend, 1, memory(1)}}));
  hand.wait(1, hand.start(1, {{Op::kRecv, 0, {0x5000, kBytes / 2}}}));
  CHECK(hand.said() == "rank 0, step 0: sends 64 bytes to rank 1, which expects 32 bytes at its step 0\n");
}

TEST_CASE("a block without a visible pair is not read, so it may still be arriving") {
  const auto said = [](const Mask& mask) {
    Hand hand;
    hand.problem = make_problem({.seqlen = 4, .head_dim = 4}, mask, Layout::kContiguous, 2);
    hand.holds(1, "k", 1, 1);
    hand.holds(1, "v", 1, 2);
    const std::size_t send = hand.start(1, {{Op::kSend, 0, memory(1)}, {Op::kSend, 0, memory(2)}});
    const std::size_t recv = hand.start(0, {{Op::kRecv, 1, memory(5)}, {Op::kRecv, 1, memory(6)}});
    hand.add(0, hand.block(TraceEvent::kForward, 0, 1, 5, 6));
    hand.wait(0, recv);
    hand.wait(1, send);
    return hand.said();
  };
  CHECK(said(causal_mask()) == "");
  CHECK(testing::contains(said(full_mask()),
                          "rank 0, step 0: reads v where a message is still arriving from rank 1"));
}

TEST_CASE("dv is followed like dk") {
  for (const bool forgets_dv : {false, true}) {
    Hand hand;
    const auto backward = [&](int rank, int block, int k, int v, int dk, int dv) {
      TraceEvent event = hand.block(TraceEvent::kBackward, rank, block, k, v);
      event.tensors.push_back({"dk", TracedTensor::kWrite, memory(dk)});
      event.tensors.push_back({"dv", TracedTensor::kWrite, memory(dv)});
      hand.add(rank, event);
    };
    for (const int rank : {0, 1})
      for (const int block : {0, 1}) {
        hand.holds(rank, "k", block, 2 * block);
        hand.holds(rank, "v", block, 2 * block + 1);
      }
    std::size_t starts[2];
    for (const int rank : {0, 1}) {  // the share of the other's block, which is sent home, then of the own
      backward(rank, 1 - rank, 2 * (1 - rank), 2 * (1 - rank) + 1, 10, 11);
      starts[rank] = hand.start(rank, {{Op::kSend, 1 - rank, memory(10)},
                                       {Op::kSend, 1 - rank, memory(11)},
                                       {Op::kRecv, 1 - rank, memory(12)},
                                       {Op::kRecv, 1 - rank, memory(13)}});
      backward(rank, rank, 2 * rank, 2 * rank + 1, 14, 15);
    }
    for (const int rank : {0, 1}) {
      hand.wait(rank, starts[rank]);
      TraceEvent sum;
      sum.kind = TraceEvent::kAdd;
      sum.tensors = {{"dk", TracedTensor::kUpdate, memory(14)}, {"dk", TracedTensor::kRead, memory(12)}};
      if (!forgets_dv || rank == 0) {
        sum.tensors.push_back({"dv", TracedTensor::kUpdate, memory(15)});
        sum.tensors.push_back({"dv", TracedTensor::kRead, memory(13)});
      }
      hand.add(rank, sum);
    }
    const ScheduleProof proof =
        prove_schedule(hand.trace, hand.problem, {.forward = false, .backward = true, .costs = {}});
    if (!forgets_dv) {
      for (const Violation& violation : proof.violations) FAIL_CHECK(violation.sentence);
      continue;
    }
    REQUIRE(proof.violations.size() == 1);
    CHECK(proof.violations[0].claim == ScheduleClaim::kGradients);
    CHECK(proof.violations[0].sentence == "dV1 on its owner, rank 1, lacks the share of rank 1");
  }
}

}  // namespace ringcraft::verify
