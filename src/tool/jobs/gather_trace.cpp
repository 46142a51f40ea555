// Brings the traces of a job's processes together.
#include "tool/jobs/gather_trace.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "ringcraft/comm/exchange.hpp"
#include "verify/schedule/trace_file.hpp"

namespace ringcraft::tool {
namespace {

constexpr int kPings = 16;

template <class T>
void send_value(Communicator& comm, int peer, const T& value) {
  send(comm, peer, std::as_bytes(std::span(&value, 1)));
}
template <class T>
T received(Communicator& comm, int peer) {
  T value{};
  recv(comm, peer, std::as_writable_bytes(std::span(&value, 1)));
  return value;
}

// A clock of another rank: its time minus that of rank 0, and how far that may be wrong, in seconds.
struct Offset {
  double seconds = 0, error = std::numeric_limits<double>::infinity();
};

// On rank 0. The peer reads its clock between the two moments at which rank 0 reads its own; the quickest of
// some such exchanges leaves the least doubt.
Offset offset_of(Communicator& comm, int peer, const RankTrace& own) {
  Offset best;
  for (int i = 0; i < kPings; ++i) {
    const double before = own.now().wall;
    send_value(comm, peer, std::byte{});
    const double there = received<double>(comm, peer), after = own.now().wall;
    const Offset found{there - (before + after) / 2, (after - before) / 2};
    if (found.error < best.error) best = found;
  }
  return best;
}

void answer_pings(Communicator& comm, const RankTrace& own) {
  for (int i = 0; i < kPings; ++i) {
    received<std::byte>(comm, 0);
    send_value(comm, 0, own.now().wall);
  }
}

void send_events(Communicator& comm, const RankTrace& own) {
  const std::string text = verify::events_text(own);
  send_value(comm, 0, static_cast<std::uint64_t>(text.size()));
  send(comm, 0, std::as_bytes(std::span(text)));
}

void receive_events(Communicator& comm, int peer, const Problem& problem, RankTrace& into) {
  std::string text(static_cast<std::size_t>(received<std::uint64_t>(comm, peer)), ' ');
  recv(comm, peer, std::as_writable_bytes(std::span(text)));
  verify::read_events(text, "the trace of rank " + std::to_string(peer), problem, peer, into);
}

// The same events, with every wall time earlier by `seconds` of its rank.
Trace moved(const Trace& trace, const std::vector<double>& seconds) {
  Trace result(trace.world_size());
  for (int rank = 0; rank < trace.world_size(); ++rank)
    for (TraceEvent event : trace.rank(rank).events()) {
      event.begin.wall -= seconds[static_cast<std::size_t>(rank)];
      event.end.wall -= seconds[static_cast<std::size_t>(rank)];
      result.rank(rank).append(std::move(event));
    }
  return result;
}

double first_begin(const Trace& trace) {
  double first = std::numeric_limits<double>::infinity();
  for (int rank = 0; rank < trace.world_size(); ++rank)
    if (const auto& events = trace.rank(rank).events(); !events.empty())
      first = std::min(first, events.front().begin.wall);
  return first;
}

}  // namespace

double gather_trace(Communicator& comm, const Problem& problem, Trace& trace) {
  if (comm.rank() != 0) {
    answer_pings(comm, trace.rank(comm.rank()));
    send_events(comm, trace.rank(comm.rank()));
    return 0;
  }
  std::vector<double> offsets{0};
  double error = 0, second = 0;  // the two largest errors: of any two ranks other than 0
  for (int rank = 1; rank < comm.world_size(); ++rank) {
    const Offset offset = offset_of(comm, rank, trace.rank(0));
    offsets.push_back(offset.seconds);
    second = std::max(second, std::min(error, offset.error));
    error = std::max(error, offset.error);
    receive_events(comm, rank, problem, trace.rank(rank));
  }
  trace = moved(trace, offsets);
  if (const double first = first_begin(trace); std::isfinite(first))
    trace = moved(trace, std::vector<double>(offsets.size(), first));
  return error + second;
}

}  // namespace ringcraft::tool
