// Lesson 306: checks of the order of calls on two streams. The student's functions run in a worker, which
// records their calls; a model of devices plays the calls of all ranks of recorded passes.
#include <algorithm>
#include <set>

#include "exercise.hpp"
#include "judge/checks/lesson.hpp"
#include "verify/streams/stream_misuse.hpp"
#include "verify/streams/stream_model.hpp"

namespace ringcraft::judge {
namespace {

using verify::StreamFinding;
using verify::StreamPattern;
using verify::StreamProgram;
using Kinds = std::set<StreamFinding::Kind>;

constexpr StreamPattern kPatterns[] = {StreamPattern::kForward, StreamPattern::kBackward,
                                       StreamPattern::kOddEven, StreamPattern::kAllGather,
                                       StreamPattern::kAllToAll};
constexpr int kRanks[] = {2, 3, 5};

// One start, as the worker answers it.
std::vector<StreamCall> start_calls(Trial& trial, std::span<const TracedMessage> messages,
                                    const ExchangeEvents& events) {
  const std::vector<Op> ops = verify::ops_of(messages);
  StreamRecorder recorder;
  const std::uint32_t changed =
      trial.call<StartOnStreams>(recorder, std::span<const Op>(ops), events).changed;
  constexpr const char* kNames[] = {"calls", "ops", "events"};
  require_unchanged("start_on_streams", changed, kNames);
  return recorder.calls;
}

std::vector<StreamCall> wait_calls(Trial& trial, const ExchangeEvents& events) {
  StreamRecorder recorder;
  trial.call<WaitOnStreams>(recorder, events);
  return recorder.calls;
}

verify::StreamOrder order_of(Trial& trial) {
  return {[&](std::span<const TracedMessage> messages, const ExchangeEvents& events) {
            return start_calls(trial, messages, events);
          },
          [&](const ExchangeEvents& events) { return wait_calls(trial, events); }};
}

// The judge's questions, and the calls that came back.
verify::StreamExhibit exhibit(const StreamProgram& program) {
  verify::StreamExhibit x;
  for (const auto& steps : program)
    for (const verify::StreamStep& step : steps) {
      if (step.kind == verify::StreamStep::kStart)
        x.starts.push_back({step.messages, verify::events_of(step.exchange), step.calls});
      if (step.kind == verify::StreamStep::kWait)
        x.waits.push_back({{}, verify::events_of(step.exchange), step.calls});
    }
  return x;
}

// Throws Wrong for the first finding of these kinds.
void require_none(const std::string& label, const StreamProgram& program, const Kinds& kinds,
                  const char* code) {
  for (const StreamFinding& finding : verify::play(program).findings)
    if (kinds.contains(finding.kind))
      throw Wrong(sign::kMessages, code, "{}", verify::sentence_of(finding))
          .knowing({Fact(finding.kind), Fact(finding.rank)})
          .labelled(label)
          .exhibiting(exhibit_of(exhibit(program)));
}

void require_none(Trial& trial, std::span<const StreamPattern> patterns, const Kinds& kinds,
                  const char* code) {
  for (const StreamPattern pattern : patterns)
    for (const int n : kRanks) {
      const std::string label = std::string(name_of(pattern)) + ", n=" + std::to_string(n) + ": ";
      const StreamProgram program =
          with_label(label, [&] { return with_calls(verify::recorded(pattern, n), order_of(trial)); });
      require_none(label, program, kinds, code);
    }
}

const Check kOperations{
    .claim = "Every operation of the list enters a stream once, with its peer and its bytes.",
    .id = "operations",
    .weight = 3,
    .hint = "The list says for each operation which kind it is, who is at the other end, and which bytes.",
    .run{[](Trial& trial) {
      require_none(trial, kPatterns,
                   {StreamFinding::kNoSuchRank, StreamFinding::kOtherOperation,
                    StreamFinding::kMissingOperation, StreamFinding::kMixedUp},
                   "operations");
    }},
};

const Check kCalls{
    .claim = "Groups are closed, and a wait names an event that is recorded.",
    .id = "calls",
    .weight = 2,
    .needs = {"operations"},
    .hint = "Each call that opens has one that closes, and a wait for an event comes after its record.",
    .run{[](Trial& trial) {
      require_none(trial, kPatterns,
                   {StreamFinding::kOpenGroup, StreamFinding::kUnopenedGroup, StreamFinding::kForeignEvent,
                    StreamFinding::kUnrecorded},
                   "calls");
    }},
};

const Check kNoDeadlock{
    .claim = "Rings, odd/even, all-gather and all to all end on 2, 3 and 5 ranks.",
    .id = "no-deadlock",
    .weight = 4,
    .needs = {"operations", "calls"},
    .hint = "A stream works through its entries in order: which of them must be a single entry?",
    .run{[](Trial& trial) { require_none(trial, kPatterns, {StreamFinding::kDeadlock}, "deadlock"); }},
};

const Check kSendsAfter{
    .claim = "No byte leaves before the computation that writes it has ended.",
    .id = "sends-after-compute",
    .weight = 3,
    .needs = {"operations", "calls"},
    .hint =
        "The host returns long before the device computes: which call tells the one stream about the other?",
    .run{[](Trial& trial) { require_none(trial, kPatterns, {StreamFinding::kSendTooEarly}, "early-send"); }},
};

const Check kReceivesAfter{
    .claim = "No byte arrives in memory that an earlier computation still reads.",
    .id = "receives-after-compute",
    .weight = 3,
    .needs = {"operations", "calls"},
    .hint = "A receive buffer was in use at the step before: from when on is it free?",
    .run{[](Trial& trial) {
      require_none(trial, kPatterns, {StreamFinding::kReceiveTooEarly, StreamFinding::kExchanges},
                   "early-receive");
    }},
};

const Check kComputesAfter{
    .claim = "After a wait no computation begins before the received bytes are there.",
    .id = "computes-after-receive",
    .weight = 3,
    .needs = {"operations", "calls"},
    .hint = "Which stream must be told that the messages have ended, and by which event?",
    .run{[](Trial& trial) {
      require_none(trial, kPatterns, {StreamFinding::kComputeTooEarly}, "early-compute");
    }},
};

const Check kFree{
    .claim = "After a wait no computation overwrites bytes that are still leaving.",
    .id = "writes-after-send",
    .weight = 2,
    .needs = {"operations", "calls"},
    .hint = "The mark of the end stands after which entries of the communication stream?",
    .run{[](Trial& trial) { require_none(trial, kPatterns, {StreamFinding::kOverwritten}, "overwritten"); }},
};

const Check kHost{
    .claim = "The host waits for no stream.",
    .id = "host-goes-on",
    .weight = 2,
    .needs = {"operations"},
    .hint = "A stream can wait for an event; then the host need not.",
    .run{[](Trial& trial) { require_none(trial, kPatterns, {StreamFinding::kHostWaits}, "host-waits"); }},
};

const Check kOverlap{
    .claim = "Work between start and wait computes while the messages move.",
    .id = "overlap",
    .weight = 3,
    .needs = {"operations", "calls"},
    .hint = "Work that enters the compute stream after the start must find nothing there that waits.",
    .run{[](Trial& trial) {
      require_none(trial, kPatterns, {StreamFinding::kOnCompute, StreamFinding::kNoOverlap}, "no-overlap");
    }},
};

// Whether the calls of a start leave done recorded after all of its messages.
bool marks_the_end(const std::vector<StreamCall>& calls, const ExchangeEvents& events) {
  bool marked = false;
  for (const StreamCall& call : calls) {
    if (call.kind == StreamCall::kRecord && call.event == events.done)
      marked = call.stream == RankStream::kCommunication;
    if (verify::moves(call) || call.kind == StreamCall::kGroupEnd) marked = false;
  }
  return marked;
}

const Check kEveryExchange{
    .claim = "Every exchange uses its own two events, whatever their numbers are, and done marks its end.",
    .id = "own-events",
    .weight = 1,
    .needs = {"operations"},
    .hint =
        "The numbers of the events are in the argument, and each has a purpose; keep nothing from the call "
        "before.",
    .run{[](Trial& trial) {
      std::byte* const device = reinterpret_cast<std::byte*>(std::uintptr_t{64} << 30);  // NOLINT: untouched
      const TracedMessage message{Op::kSend, 1, TracedBytes(std::span(device, 8))};
      verify::StreamExhibit asked;
      std::string wrong;
      for (const ExchangeEvents events : {ExchangeEvents{7, 3}, {0, 1}, {1, 0}, {100, 2}}) {
        const std::string label =
            "events " + std::to_string(events.ready) + " and " + std::to_string(events.done) + ": ";
        with_label(label, [&] {
          asked.starts.push_back({{message}, events, start_calls(trial, std::span(&message, 1), events)});
          asked.waits.push_back({{}, events, wait_calls(trial, events)});
        });
        for (const auto* calls : {&asked.starts.back().calls, &asked.waits.back().calls})
          for (const StreamCall& call : *calls)
            if (wrong.empty() && (call.kind == StreamCall::kRecord || call.kind == StreamCall::kWait) &&
                call.event != events.ready && call.event != events.done)
              wrong = label + "an event " + std::to_string(call.event) + " is used";
        if (wrong.empty() && !marks_the_end(asked.starts.back().calls, events))
          wrong = label + "after start, event " + std::to_string(events.done) +
                  " (done) does not mark the end of the messages on their stream";
      }
      if (!wrong.empty())
        throw Wrong(sign::kMessages, "other-event", "{}", wrong).exhibiting(exhibit_of(std::move(asked)));
    }},
};

}  // namespace

template <>
std::vector<Check> checks_of<RINGCRAFT_LESSON>() {
  return {kOperations,    kCalls, kNoDeadlock, kSendsAfter, kReceivesAfter,
          kComputesAfter, kFree,  kHost,       kOverlap,    kEveryExchange};
}

}  // namespace ringcraft::judge
