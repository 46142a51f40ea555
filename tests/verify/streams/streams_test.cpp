// The model of two streams per rank: the library's order passes on every pattern, each call of it is needed,
// and each kind of finding is found where it is planted.
#include <algorithm>
#include <set>

#include "support/catch.hpp"
#include "verify/streams/stream_lanes.hpp"

using namespace ringcraft;
using namespace ringcraft::verify;

namespace {

constexpr StreamPattern kAll[] = {StreamPattern::kForward, StreamPattern::kBackward, StreamPattern::kOddEven,
                                  StreamPattern::kAllGather, StreamPattern::kAllToAll};
using F = StreamFinding;
using Change = StreamChange;

StreamOrder changed(const Change& in_start, const Change& in_wait) {
  return changed_order(in_start, in_wait);
}
void nothing(std::vector<StreamCall>&) {}

std::set<F::Kind> found(const StreamOrder& order) {
  std::set<F::Kind> kinds;
  for (const StreamPattern pattern : kAll)
    for (const int n : {2, 3, 5})
      for (const F& finding : play(with_calls(recorded(pattern, n), order)).findings)
        kinds.insert(finding.kind);
  return kinds;
}

// All calls of a kind leave, or those on one stream.
Change erases(StreamCall::Kind kind, int event = -1) {
  return [=](std::vector<StreamCall>& calls) {
    std::erase_if(calls,
                  [=](const StreamCall& c) { return c.kind == kind && (event < 0 || c.event % 2 == event); });
  };
}
Change puts(std::size_t place, StreamCall call) {
  return [=](std::vector<StreamCall>& calls) {
    calls.insert(calls.begin() + static_cast<std::ptrdiff_t>(std::min(place, calls.size())), call);
  };
}

}  // namespace

TEST_CASE("the order of start_on_streams and wait_on_streams is right on every pattern of 1 to 6 ranks") {
  for (const StreamPattern pattern : kAll)
    for (int n = 1; n <= 6; ++n) {
      const StreamRun run = play(with_calls(recorded(pattern, n), library_order()));
      CAPTURE(name_of(pattern), n);
      if (!run.findings.empty()) UNSCOPED_INFO(sentence_of(run.findings.front()));
      CHECK(run.findings.empty());
      CHECK((n == 1 || std::ranges::any_of(run.spans, [](const StreamSpan& s) { return s.exchange >= 0; })));
    }
}

TEST_CASE("every call of that order is needed") {
  const StreamRecorder example = [] {
    StreamRecorder recorder;
    std::byte bytes[2];
    start_on_streams(recorder,
                     std::vector{send_to(1, std::span(bytes, 1)), recv_from(1, std::span(bytes + 1, 1))},
                     {0, 1});
    return recorder;
  }();
  REQUIRE(example.calls.size() == 7);
  for (std::size_t i = 0; i < example.calls.size(); ++i) {
    const bool from_end = i >= 4;  // lists differ in length
    const std::size_t back = example.calls.size() - i;
    const auto kinds = found(changed(
        [=](auto& calls) {
          const std::size_t at = from_end ? calls.size() - back : i;
          calls.erase(calls.begin() + static_cast<std::ptrdiff_t>(at));
        },
        nothing));
    CAPTURE(i);
    CHECK_FALSE(kinds.empty());
  }
  CHECK(found(changed(nothing, [](auto& calls) { calls.clear(); })).contains(F::kComputeTooEarly));
}

TEST_CASE("races are found by the vector clocks") {
  CHECK(found(changed(erases(StreamCall::kWait), nothing)) ==
        std::set<F::Kind>{F::kSendTooEarly, F::kReceiveTooEarly});
  const auto no_wait = found(changed(nothing, erases(StreamCall::kWait)));
  CHECK(no_wait.contains(F::kComputeTooEarly));
  CHECK(no_wait.contains(F::kOverwritten));
  const auto early_done = found(changed(
      [](auto& calls) {
        std::ranges::rotate(calls, calls.end() - 1);  // done is recorded first
      },
      nothing));
  CHECK(early_done.contains(F::kComputeTooEarly));
  CHECK(early_done.contains(F::kOverwritten));
}

TEST_CASE("without a group each rank waits at its first operation") {
  const auto kinds = found(changed(
      [](auto& calls) {
        erases(StreamCall::kGroupStart)(calls);
        erases(StreamCall::kGroupEnd)(calls);
      },
      nothing));
  CHECK(kinds.contains(F::kDeadlock));
}

TEST_CASE("a group for each pair of messages passes rings, and not lists that begin at different peers") {
  const StreamOrder pairs = changed(
      [](auto& calls) {
        std::vector<StreamCall> split;
        int moved = 0;
        for (const StreamCall& call : calls) {
          const bool moves = call.kind == StreamCall::kSend || call.kind == StreamCall::kRecv;
          if (moves && moved > 0 && moved % 2 == 0) {
            split.push_back({StreamCall::kGroupEnd});
            split.push_back({StreamCall::kGroupStart});
          }
          moved += moves;
          split.push_back(call);
        }
        calls = split;
      },
      nothing);
  CHECK(play(with_calls(recorded(StreamPattern::kAllGather, 5), pairs)).findings.empty());
  const StreamRun run = play(with_calls(recorded(StreamPattern::kAllToAll, 3), pairs));
  REQUIRE_FALSE(run.findings.empty());
  CHECK(run.findings.front().kind == F::kDeadlock);
}

TEST_CASE("lost overlap and waits of the host are found, in virtual time too") {
  const auto on_compute = [](auto& calls) {
    for (StreamCall& call : calls) call.stream = RankStream::kCompute;
  };
  const auto kinds = found(changed(on_compute, nothing));
  CHECK(kinds.contains(F::kOnCompute));
  CHECK(kinds.contains(F::kNoOverlap));
  const auto at_once = changed(
      [](auto& calls) {
        calls.push_back({StreamCall::kWait, RankStream::kCompute, calls.back().event});
      },
      nothing);
  CHECK(found(at_once) == std::set<F::Kind>{F::kNoOverlap});
  const auto host = changed(nothing, puts(0, {StreamCall::kSynchronize, RankStream::kCommunication}));
  // In a backward pass a second exchange is under way: what it hides under is held up as well.
  CHECK(found(host) == std::set<F::Kind>{F::kHostWaits, F::kNoOverlap});
  const StreamProgram ring = recorded(StreamPattern::kForward, 3);
  const double right = play(with_calls(ring, library_order())).end;
  CHECK(right == 4 * 3);  // exchanges of 2 hide under computations of 3
  CHECK(play(with_calls(ring, at_once)).end == 4 * 3 + 2 * 2);
}

TEST_CASE("misuse is found") {
  CHECK(found(changed(erases(StreamCall::kGroupEnd), nothing)).contains(F::kOpenGroup));
  CHECK(found(changed(erases(StreamCall::kGroupStart), nothing)).contains(F::kUnopenedGroup));
  CHECK(found(changed(erases(StreamCall::kRecord, 0), nothing)) ==
        std::set<F::Kind>{F::kUnrecorded, F::kSendTooEarly, F::kReceiveTooEarly});
  const auto each = [](auto change) {
    return changed(
        [=](auto& calls) {
          for (StreamCall& call : calls) change(call);
        },
        nothing);
  };
  CHECK(found(each([](StreamCall& c) { c.event += c.event >= 0 ? 1000 : 0; })) ==
        std::set<F::Kind>{F::kForeignEvent});
  CHECK(found(each([](StreamCall& c) { c.peer += c.peer >= 0 ? 100 : 0; })) ==
        std::set<F::Kind>{F::kNoSuchRank, F::kMissingOperation});
  CHECK(found(each([](StreamCall& c) { c.bytes.size /= 2; })) ==
        std::set<F::Kind>{F::kOtherOperation, F::kMissingOperation});
  const auto reversed_sends = changed(
      [](auto& calls) {
        std::vector<StreamCall> sends;
        for (const StreamCall& c : calls)
          if (c.kind == StreamCall::kSend) sends.push_back(c);
        for (StreamCall& c : calls)
          if (c.kind == StreamCall::kSend) c = sends.back(), sends.pop_back();
      },
      nothing);
  CHECK(found(reversed_sends).contains(F::kMixedUp));
}

TEST_CASE("two exchanges that share memory on streams that nothing orders are found") {
  StreamProgram program(2);
  const TracedBytes bytes(std::uintptr_t{4096}, 8);
  for (int rank = 0; rank < 2; ++rank) {
    auto& steps = program[static_cast<std::size_t>(rank)];
    for (const int exchange : {0, 1})
      steps.push_back(
          {StreamStep::kStart, exchange, {}, {{rank == 0 ? Op::kSend : Op::kRecv, 1 - rank, bytes}}});
  }
  CHECK(play(with_calls(program, library_order())).findings.empty());  // one stream orders them
  StreamProgram split = with_calls(program, library_order());
  for (auto& steps : split) {
    for (StreamCall& call : steps[1].calls)
      if (call.kind == StreamCall::kSend || call.kind == StreamCall::kRecv)
        call.stream = RankStream::kCompute;
    std::erase_if(steps[1].calls, [](const StreamCall& c) { return c.kind == StreamCall::kWait; });
  }
  const auto findings = play(split).findings;
  CHECK(std::ranges::count(findings, F::kExchanges, &F::kind) == 1);  // two sends only read
}
