// Plays a program: hosts enqueue, streams work, messages meet. The outcome does not depend on the order in
// which the loop visits them, for no part of the model asks whether another one has ended.
#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <set>

#include "verify/streams/stream_access.hpp"
#include "verify/streams/stream_misuse.hpp"

namespace ringcraft::verify {
namespace {

// A moment on a stream or at a host.
struct Moment {
  VectorClock clock;
  double time = 0;

  void join(const Moment& other) {
    verify::join(clock, other.clock);
    time = std::max(time, other.time);
  }
};

// Half of a message that is enqueued.
struct Half {
  Op::Kind op;
  int rank, peer, number;  // the how-many-th message between the two that it belongs to
  TracedBytes bytes;
  std::optional<Moment> begun = {};
  Half* other = nullptr;
};

struct Entry {
  enum Kind { kWork, kRecord, kWait, kMessages } kind;
  Moment host;                     // when it was enqueued
  int position, number, exchange;  // as StreamWork has them
  std::vector<Half*> halves = {};
  std::size_t record = 0;  // kRecord, kWait
  bool begun = false;
};

struct StreamState {
  Moment now;
  std::deque<Entry> entries;
};

struct Host {
  Moment now;
  std::size_t step = 0, call = 0;
  int computed = 0, depth = 0;
  std::map<RankStream, std::vector<Half*>> group = {};
  std::map<int, std::size_t> recorded = {};  // by event: the latest record
  std::vector<bool> used = {};               // of the messages of this start
};

class Player {
 public:
  Player(const StreamProgram& program, const StreamCosts& costs)
      : program_(program),
        costs_(costs),
        n_(program.size()),
        hosts_(n_),
        streams_(2 * n_),
        accesses_(n_),
        works_(n_) {
    const Moment zero{VectorClock(2 * n_), 0};
    for (Host& host : hosts_) host.now = zero;
    for (StreamState& stream : streams_) stream.now = zero;
    number_messages();
  }

  StreamRun run() {
    while (move()) {
    }
    report_stuck();
    for (std::size_t rank = 0; rank < n_; ++rank) {
      append(races_of(accesses_[rank]));
      append(lost_overlap(works_[rank], program_[rank]));
    }
    for (const StreamState& stream : streams_) result_.end = std::max(result_.end, stream.now.time);
    return std::move(result_);
  }

 private:
  void append(const std::vector<StreamFinding>& found) {
    result_.findings.insert(result_.findings.end(), found.begin(), found.end());
  }

  // Each message's place among those between its two ranks.
  void number_messages() {
    std::map<std::tuple<int, int, Op::Kind>, int> next;
    for (std::size_t rank = 0; rank < n_; ++rank)
      for (const StreamStep& step : program_[rank])
        for (const TracedMessage& m : step.messages)
          numbers_[{rank, step.exchange}].push_back(next[{static_cast<int>(rank), m.peer, m.kind}]++);
  }

  bool move() {
    bool moved = false;
    for (std::size_t rank = 0; rank < n_; ++rank)
      while (step_host(static_cast<int>(rank))) moved = true;
    for (std::size_t stream = 0; stream < streams_.size(); ++stream)
      while (step_stream(stream)) moved = true;
    return moved;
  }

  StreamState& stream(int rank, RankStream which) {
    return streams_[2 * static_cast<std::size_t>(rank) + static_cast<std::size_t>(which)];
  }

  // ---- hosts

  bool step_host(int rank) {
    Host& host = hosts_[static_cast<std::size_t>(rank)];
    const auto& steps = program_[static_cast<std::size_t>(rank)];
    if (host.step == steps.size()) return false;
    const StreamStep& step = steps[host.step];
    if (step.kind == StreamStep::kCompute)
      stream(rank, RankStream::kCompute)
          .entries.push_back({Entry::kWork, host.now, static_cast<int>(host.step), host.computed++, -1});
    else if (host.call < step.calls.size())
      return make(rank, host, step, step.calls[host.call]) && (++host.call, true);
    ++host.step;
    host.call = 0;
    host.used.clear();
    return true;
  }

  // False: the host waits.
  bool make(int rank, Host& host, const StreamStep& step, const StreamCall& call) {
    Entry entry{Entry::kRecord, host.now, static_cast<int>(host.step), -1, step.exchange};
    auto& entries = stream(rank, call.stream).entries;
    switch (call.kind) {
      case StreamCall::kRecord:
        entry.record = records_.size();
        records_.emplace_back();
        host.recorded[call.event] = entry.record;
        entries.push_back(entry);
        return true;
      case StreamCall::kWait:
        if (!host.recorded.contains(call.event)) {
          result_.findings.push_back({StreamFinding::kUnrecorded, rank, step.exchange});
          return true;
        }
        entry.kind = Entry::kWait;
        entry.record = host.recorded[call.event];
        entries.push_back(entry);
        return true;
      case StreamCall::kSynchronize:
        if (!entries.empty()) return false;
        host.now.join(stream(rank, call.stream).now);
        return true;
      case StreamCall::kGroupStart:
        ++host.depth;
        return true;
      case StreamCall::kGroupEnd:
        if (host.depth > 0 && --host.depth == 0) enqueue_group(rank, host, step);
        return true;
      case StreamCall::kSend:
      case StreamCall::kRecv:
        host.group[call.stream].push_back(half_of(rank, host, step, call));
        if (host.depth == 0) enqueue_group(rank, host, step);
        return true;
    }
    return true;
  }

  Half* half_of(int rank, Host& host, const StreamStep& step, const StreamCall& call) {
    host.used.resize(step.messages.size());
    const std::size_t which = message_of(call, step.messages, host.used);
    host.used[which] = true;  // misuse_of has seen that it is there
    const int number = numbers_[{static_cast<std::size_t>(rank), step.exchange}][which];
    return &halves_.emplace_back(Half{op_of(call), rank, call.peer, number, call.bytes});
  }

  void enqueue_group(int rank, Host& host, const StreamStep& step) {
    for (auto& [which, halves] : host.group) {
      Entry entry{Entry::kMessages, host.now, static_cast<int>(host.step), -1, step.exchange};
      entry.halves = std::move(halves);
      stream(rank, which).entries.push_back(std::move(entry));
    }
    host.group.clear();
  }

  // ---- streams

  bool step_stream(std::size_t index) {
    StreamState& state = streams_[index];
    if (state.entries.empty()) return false;
    Entry& entry = state.entries.front();
    if (!entry.begun) state.now.join(entry.host);
    if (entry.kind == Entry::kRecord) records_[entry.record] = state.now;
    if (entry.kind == Entry::kWait) {
      if (!records_[entry.record]) return false;
      state.now.join(*records_[entry.record]);
    }
    if (entry.kind == Entry::kWork) work(index, entry);
    if (entry.kind == Entry::kMessages && !messages(index, entry)) return false;
    state.entries.pop_front();
    return true;
  }

  void work(std::size_t index, const Entry& entry) {
    StreamState& state = streams_[index];
    const std::size_t rank = index / 2;
    const StreamWork work = begin(index, entry);
    for (const TracedTensor& tensor : program_[rank][static_cast<std::size_t>(entry.position)].tensors)
      accesses_[rank].push_back({work, tensor.bytes, tensor.access != TracedTensor::kRead});
    end(index, entry, state.now.time, state.now.time + costs_.compute);
  }

  // False: not all of them have met their other half.
  bool messages(std::size_t index, Entry& entry) {
    StreamState& state = streams_[index];
    const std::size_t rank = index / 2;
    if (!entry.begun) {
      entry.begun = true;
      const StreamWork work = begin(index, entry);
      for (Half* half : entry.halves) {
        accesses_[rank].push_back({work, half->bytes, half->op == Op::kRecv, half->peer, half->op});
        half->begun = state.now;
        meet(*half, entry.exchange);
      }
    }
    const auto met = [](const Half* half) { return half->other != nullptr; };
    if (!std::ranges::all_of(entry.halves, met)) return false;
    double from = state.now.time;
    for (const Half* half : entry.halves) {
      verify::join(state.now.clock, half->other->begun->clock);
      from = std::max(from, half->other->begun->time);
    }
    end(index, entry, from, from + costs_.exchange);
    return true;
  }

  void meet(Half& half, int exchange) {
    const bool sends = half.op == Op::kSend;
    auto& channel = channels_[{sends ? half.rank : half.peer, sends ? half.peer : half.rank}];
    auto& others = sends ? channel.second : channel.first;
    if (others.empty()) {
      (sends ? channel.first : channel.second).push_back(&half);
      return;
    }
    half.other = others.front();
    others.front()->other = &half;
    others.pop_front();
    if (half.number != half.other->number || half.bytes.size != half.other->bytes.size)
      result_.findings.push_back({StreamFinding::kMixedUp, half.rank, exchange, half.peer, half.op});
  }

  StreamWork begin(std::size_t index, const Entry& entry) {
    const std::int64_t tick = ++streams_[index].now.clock[index];
    StreamWork work{static_cast<int>(index / 2),
                    index,
                    streams_[index].now.clock,
                    tick + 1,
                    entry.position,
                    entry.number,
                    entry.exchange};
    if (entry.kind == Entry::kWork) work.exchange = -1;
    works_[index / 2].push_back(work);
    return work;
  }

  void end(std::size_t index, const Entry& entry, double from, double to) {
    streams_[index].now.clock[index] += 1;
    streams_[index].now.time = to;
    result_.spans.push_back({static_cast<int>(index / 2), static_cast<RankStream>(index % 2), from, to,
                             entry.kind == Entry::kWork ? -1 : entry.exchange});
  }

  void report_stuck() {
    for (std::size_t index = 0; index < streams_.size(); ++index) {
      if (streams_[index].entries.empty()) continue;
      const Entry& entry = streams_[index].entries.front();
      for (const Half* half : entry.halves)
        if (half->other == nullptr) {
          result_.findings.push_back(
              {StreamFinding::kDeadlock, half->rank, entry.exchange, half->peer, half->op});
          break;
        }
    }
  }

  const StreamProgram& program_;
  StreamCosts costs_;
  std::size_t n_;
  std::vector<Host> hosts_;
  std::vector<StreamState> streams_;  // compute and communication of each rank
  std::deque<Half> halves_;
  std::deque<std::optional<Moment>> records_;
  std::map<std::pair<int, int>, std::pair<std::deque<Half*>, std::deque<Half*>>>
      channels_;                                                     // sends, receives
  std::map<std::pair<std::size_t, int>, std::vector<int>> numbers_;  // of a rank's exchange: of its messages
  std::vector<std::vector<StreamAccess>> accesses_;
  std::vector<std::vector<StreamWork>> works_;
  StreamRun result_;
};

// Whether the program can be played in spite of it.
bool is_playable(const StreamFinding& f) {
  return f.kind == StreamFinding::kHostWaits || f.kind == StreamFinding::kOnCompute ||
         f.kind == StreamFinding::kUnopenedGroup;
}

std::vector<StreamFinding> first_of_each(const std::vector<StreamFinding>& all) {
  std::vector<StreamFinding> first;
  std::set<std::pair<int, int>> seen;
  for (const StreamFinding& f : all)
    if (seen.insert({f.kind, f.rank}).second) first.push_back(f);
  return first;
}

}  // namespace

StreamRun play(const StreamProgram& program, const StreamCosts& costs) {
  std::vector<StreamFinding> misuse;
  for (std::size_t rank = 0; rank < program.size(); ++rank)
    for (const StreamStep& step : program[rank]) {
      const auto found = misuse_of(step, static_cast<int>(rank), static_cast<int>(program.size()));
      misuse.insert(misuse.end(), found.begin(), found.end());
    }
  StreamRun run;
  if (std::ranges::all_of(misuse, is_playable)) run = Player(program, costs).run();
  run.findings.insert(run.findings.begin(), misuse.begin(), misuse.end());
  run.findings = first_of_each(run.findings);
  return run;
}

}  // namespace ringcraft::verify
