// Brings the traces of a job's processes together.
#include "tool/jobs/gather_trace.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <fstream>
#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "verify/schedule/trace_file.hpp"

namespace ringcraft::tool {
namespace {

// The time of a rank's clock minus that of rank 0, and how far that may be wrong, in seconds.
struct Offset {
  double seconds = 0, error = std::numeric_limits<double>::infinity();
};

template <class T>
std::vector<T> gathered_values(Meeting& meeting, const T& own) {
  std::vector<T> all;
  for (const std::string& bytes : meeting.gathered({reinterpret_cast<const char*>(&own), sizeof own})) {
    all.push_back(own);
    std::memcpy(&all.back(), bytes.data(), sizeof own);
  }
  return all;
}

// A clock that hosts share with all of their processes, until they boot again.
struct HostClock {
  char boot[64] = {};  // of the host: empty if it does not tell
  double origin = 0;   // of the rank's trace on it

  HostClock(const std::string& host, const RankTrace& own)
      : origin(std::chrono::duration<double>(own.origin().time_since_epoch()).count()) {
    host.copy(boot, sizeof boot - 1);
  }
  bool is_that_of(const HostClock& other) const { return boot[0] != 0 && std::strcmp(boot, other.boot) == 0; }
};

// By rank. Each reads its clock after it has heard from all ranks, and before rank 0 hears of it: between the
// two moments at which rank 0 reads its own. The quickest of some such rounds leaves the least doubt.
std::vector<Offset> offsets_of(Meeting& meeting, const RankTrace& own) {
  constexpr int kRounds = 16;
  std::vector<Offset> best(static_cast<std::size_t>(meeting.world_size()));
  for (int i = 0; i < kRounds; ++i) {
    const double before = own.now().wall;
    gathered_values(meeting, std::byte{});
    const std::vector<double> there = gathered_values(meeting, own.now().wall);
    const double after = own.now().wall;
    for (std::size_t rank = 1; rank < best.size(); ++rank)
      if (const Offset found{there[rank] - (before + after) / 2, (after - before) / 2};
          found.error < best[rank].error)
        best[rank] = found;
  }
  return best;
}

// The texts of all ranks, which may differ in length.
std::vector<std::string> gathered_texts(Meeting& meeting, std::string own) {
  const std::vector<std::uint64_t> lengths = gathered_values(meeting, static_cast<std::uint64_t>(own.size()));
  own.resize(*std::ranges::max_element(lengths));
  std::vector<std::string> texts = meeting.gathered(own);
  for (std::size_t rank = 0; rank < texts.size(); ++rank) texts[rank].resize(lengths[rank]);
  return texts;
}

// The same events, with every wall time earlier by `seconds` of its rank, and by `first`.
Trace moved(const Trace& trace, const std::vector<double>& seconds, double first) {
  Trace result(trace.world_size());
  for (int rank = 0; rank < trace.world_size(); ++rank)
    for (TraceEvent event : trace.rank(rank).events()) {
      for (double* const wall : {&event.begin.wall, &event.end.wall})
        *wall = *wall - seconds[static_cast<std::size_t>(rank)] - first;
      result.rank(rank).append(std::move(event));
    }
  return result;
}

// When the first event begins, once every rank's times are earlier by so many seconds; 0 without events.
double first_begin(const Trace& trace, const std::vector<double>& seconds) {
  double first = std::numeric_limits<double>::infinity();
  for (int rank = 0; rank < trace.world_size(); ++rank)
    if (const auto& events = trace.rank(rank).events(); !events.empty())
      first = std::min(first, events.front().begin.wall - seconds[static_cast<std::size_t>(rank)]);
  return std::isfinite(first) ? first : 0;
}

}  // namespace

std::string host_boot() {
  std::string id;
  std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), id);
  return id;
}

double gather_trace(Meeting& meeting, const Problem& problem, Trace& trace, const std::string& host,
                    int degree) {
  const RankTrace& own = trace.rank(meeting.rank());
  std::vector<Offset> offsets = offsets_of(meeting, own);
  const std::vector<HostClock> clocks = gathered_values(meeting, HostClock(host, own));
  for (std::size_t rank = 0; rank < clocks.size(); ++rank)
    if (rank == 0 || clocks[rank].is_that_of(clocks[0]))
      offsets[rank] = {clocks[0].origin - clocks[rank].origin, 0};
  const std::vector<std::string> texts = gathered_texts(meeting, verify::events_text(own));
  if (meeting.rank() != 0) return 0;
  std::vector<double> seconds, errors;
  for (int rank = 0; rank < meeting.world_size(); ++rank) {
    const auto r = static_cast<std::size_t>(rank);
    seconds.push_back(offsets[r].seconds), errors.push_back(offsets[r].error);
    if (rank > 0)
      verify::read_events(texts[r], "the trace of rank " + std::to_string(rank), problem, degree, rank,
                          trace.rank(rank));
  }
  trace = moved(trace, seconds, first_begin(trace, seconds));
  std::ranges::sort(errors, std::ranges::greater());
  return errors[0] + (errors.size() > 1 ? errors[1] : 0);  // of any two ranks
}

}  // namespace ringcraft::tool
