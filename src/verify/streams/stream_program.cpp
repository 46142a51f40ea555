// Records runs of the library's rings, and makes programs of streams out of them.
#include "verify/streams/stream_program.hpp"

#include <algorithm>
#include <map>

#include "ringcraft/comm/collectives.hpp"
#include "ringcraft/comm/exchange.hpp"
#include "ringcraft/comm/threads.hpp"
#include "verify/ladder/subject.hpp"
#include "verify/oracle/cases.hpp"

namespace ringcraft::verify {
namespace {

bool computes(TraceEvent::Kind kind) {
  return kind == TraceEvent::kForward || kind == TraceEvent::kBackward || kind == TraceEvent::kAdd ||
         kind == TraceEvent::kCopy;
}

// Work around messages: the sent bytes are written before a start, and written again after the wait.
StreamStep work_around(std::span<const TracedMessage> messages, bool before) {
  StreamStep step;
  for (const TracedMessage& message : messages) {
    const bool writes = (message.kind == Op::kSend) == before;
    step.tensors.push_back({"", writes ? TracedTensor::kWrite : TracedTensor::kRead, message.bytes});
    if (!before && message.kind == Op::kSend) step.tensors.back().access = TracedTensor::kWrite;
  }
  return step;
}

std::vector<StreamStep> steps_of(const RankTrace& trace) {
  const auto& events = trace.events();
  const bool alone = std::ranges::none_of(events, [](const TraceEvent& e) { return computes(e.kind); });
  std::vector<StreamStep> steps;
  std::map<std::size_t, int> exchanges;  // by the event of the start
  for (std::size_t i = 0; i < events.size(); ++i) {
    const TraceEvent& event = events[i];
    if (computes(event.kind)) steps.push_back({StreamStep::kCompute, -1, event.tensors});
    if (event.kind == TraceEvent::kStart && !event.messages.empty()) {
      if (alone) steps.push_back(work_around(event.messages, true));
      const int number = static_cast<int>(exchanges.size());
      exchanges[i] = number;
      steps.push_back({StreamStep::kStart, number, {}, event.messages});
    }
    if (event.kind == TraceEvent::kWait && exchanges.contains(event.waits_for)) {
      steps.push_back({StreamStep::kWait, exchanges[event.waits_for]});
      if (alone) steps.push_back(work_around(events[event.waits_for].messages, false));
    }
  }
  for (auto last = events.rbegin(); last != events.rend() && !alone; ++last)  // results are read at the end
    if (last->kind == TraceEvent::kStart && !last->messages.empty()) {
      steps.push_back(work_around(last->messages, false));
      break;
    }
  return steps;
}

StreamProgram recorded_ring(int n, bool backward) {
  const Case c =
      make_case(make_problem({1, 2, 1, 2 * n + 1, 4}, full_mask(), Layout::kContiguous, n), Data::kNormal, 5);
  Measurement cost;
  run_over_ranks(c.problem, make_inputs(c, DType::kFloat64), {.trace = true}, &cost);
  return program_of(backward ? *cost.backward.trace : *cost.forward.trace);
}

// Every rank sends to all and receives from all in one start; its list begins with the next rank.
void all_to_all_at_once(Communicator& comm, std::span<std::byte> out, std::span<std::byte> in) {
  const auto n = static_cast<std::size_t>(comm.world_size());
  const std::size_t size = out.size() / n;
  std::vector<Op> ops;
  for (std::size_t turn = 1; turn < n; ++turn) {
    const std::size_t peer = (static_cast<std::size_t>(comm.rank()) + turn) % n;
    ops.push_back(send_to(static_cast<int>(peer), out.subspan(peer * size, size)));
    ops.push_back(recv_from(static_cast<int>(peer), in.subspan(peer * size, size)));
  }
  comm.start(ops).wait();
}

void all_gather_around(Communicator& comm, std::span<std::byte> all) {
  const int n = comm.world_size(), rank = comm.rank();
  const std::size_t size = all.size() / static_cast<std::size_t>(n);
  const auto piece = [&](int owner) {
    return all.subspan(static_cast<std::size_t>((owner + n) % n) * size, size);
  };
  for (int t = 0; t < n - 1; ++t)
    comm.start({send_to((rank + 1) % n, piece(rank - t)), recv_from((rank + n - 1) % n, piece(rank - t - 1))})
        .wait();
}

}  // namespace

std::vector<Op> ops_of(std::span<const TracedMessage> messages) {
  std::vector<Op> ops;
  for (const TracedMessage& m : messages)
    ops.push_back({m.kind,
                   m.peer,
                   {reinterpret_cast<std::byte*>(m.bytes.address),  // NOLINT: never touched
                    static_cast<std::size_t>(m.bytes.size)}});
  return ops;
}

StreamOrder library_order() {
  return {[](std::span<const TracedMessage> messages, const ExchangeEvents& events) {
            StreamRecorder recorder;
            start_on_streams(recorder, ops_of(messages), events);
            return recorder.calls;
          },
          [](const ExchangeEvents& events) {
            StreamRecorder recorder;
            wait_on_streams(recorder, events);
            return recorder.calls;
          }};
}

StreamProgram program_of(const Trace& trace) {
  StreamProgram program;
  for (int rank = 0; rank < trace.world_size(); ++rank) program.push_back(steps_of(trace.rank(rank)));
  return program;
}

StreamProgram with_calls(StreamProgram program, const StreamOrder& order) {
  for (auto& steps : program)
    for (StreamStep& step : steps) {
      if (step.kind == StreamStep::kStart) step.calls = order.start(step.messages, events_of(step.exchange));
      if (step.kind == StreamStep::kWait) step.calls = order.wait(events_of(step.exchange));
    }
  return program;
}

const char* name_of(StreamPattern pattern) {
  constexpr const char* kNames[] = {"ring forward", "ring backward", "odd/even", "all-gather", "all to all"};
  return kNames[static_cast<std::size_t>(pattern)];
}

StreamProgram recorded(StreamPattern pattern, int n) {
  if (pattern <= StreamPattern::kBackward) return recorded_ring(n, pattern == StreamPattern::kBackward);
  Trace trace(n);
  std::vector<std::vector<std::byte>> memory(static_cast<std::size_t>(n));  // all live at once
  for (auto& bytes : memory) bytes.resize(static_cast<std::size_t>(16 * n));
  run_ranks(n, [&](ThreadCommunicator& comm) {
    const std::span<std::byte> all = memory[static_cast<std::size_t>(comm.rank())];
    const std::span<std::byte> out = all.first(all.size() / 2), in = all.last(all.size() / 2);
    comm.record(&trace.rank(comm.rank()));
    if (pattern == StreamPattern::kAllGather) all_gather_around(comm, all);
    if (pattern == StreamPattern::kAllToAll) all_to_all_at_once(comm, out, in);
    if (pattern == StreamPattern::kOddEven)
      exchange_odd_even(comm, {(comm.rank() + 1) % n, out, (comm.rank() + n - 1) % n, in});
    comm.record(nullptr);
  });
  return program_of(trace);
}

}  // namespace ringcraft::verify
