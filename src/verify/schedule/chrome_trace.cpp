// Writes a trace in Chrome's trace event format. A rank works sequentially, so its spans are complete events
// (X) of one thread; messages overlap freely, so theirs are asynchronous (b, e).
#include "verify/schedule/chrome_trace.hpp"

#include <map>
#include <nlohmann/json.hpp>

#include "ringcraft/core/shown.hpp"

namespace ringcraft::verify {
namespace {

using Json = nlohmann::json;

class Writer {
 public:
  Writer(const Trace& trace, const Replay& replayed, TraceClock clock)
      : trace_(trace), replayed_(replayed), clock_(clock) {}

  std::string text() {
    for (int rank = 0; rank < trace_.world_size(); ++rank) {
      name_tracks(rank);
      for (std::size_t number = 0; number < events(rank).size(); ++number) add(rank, number);
    }
    return "[" + list_ + "]";
  }

 private:
  const std::vector<TraceEvent>& events(int rank) const { return trace_.rank(rank).events(); }

  double microseconds(const TraceTime& time) const { return 1e6 * seconds_on(clock_, time); }

  void put(const char* phase, int rank, const std::string& name, const TraceTime& time, Json more) {
    Json event{{"ph", phase}, {"pid", rank}, {"tid", 0}, {"name", name}, {"ts", microseconds(time)}};
    event.update(more);
    list_ += (list_.empty() ? "\n" : ",\n") + event.dump();
  }

  void name_tracks(int rank) {
    put("M", rank, "process_name", {}, {{"args", {{"name", "rank " + std::to_string(rank)}}}});
    put("M", rank, "process_sort_index", {}, {{"args", {{"sort_index", rank}}}});
    put("M", rank, "thread_name", {}, {{"args", {{"name", "work"}}}});
  }

  void span(int rank, const std::string& name, const char* category, const TraceEvent& e, Json arguments) {
    put("X", rank, name, e.begin,
        {{"cat", category},
         {"dur", microseconds(e.end) - microseconds(e.begin)},
         {"args", std::move(arguments)}});
  }

  void add(int rank, std::size_t number) {
    const TraceEvent& e = events(rank)[number];
    const ReplayedEvent& known = replayed_.events[static_cast<std::size_t>(rank)][number];
    if (e.live_bytes > 0) put("C", rank, "memory", e.begin, {{"args", {{"bytes", e.live_bytes}}}});
    const std::string block = known.block.empty() ? "a block" : known.block;
    switch (e.kind) {
      case TraceEvent::kHolds:
      case TraceEvent::kGives:
      case TraceEvent::kBegin:
        break;
      case TraceEvent::kStart:
        span(rank, "start", "start", e, {{"step", known.step}, {"messages", e.messages.size()}});
        break;
      case TraceEvent::kWait:
        span(rank, "wait", "wait", e, {{"step", known.step}});
        add_messages(rank, e.waits_for, number);
        break;
      case TraceEvent::kForward:
      case TraceEvent::kBackward:
        span(rank, (known.queries ? name_of(*known.queries) : "q" + std::to_string(rank)) + " x " + block,
             e.kind == TraceEvent::kForward ? "forward" : "backward", e,
             {{"step", known.step}, {"pairs", e.pairs}});
        break;
      case TraceEvent::kAdd:
        span(rank, "add to " + block, "add", e, {{"step", known.step}});
        break;
      case TraceEvent::kCopy:
        span(rank, "copy", "copy", e, {{"step", known.step}});
        break;
      case TraceEvent::kClear:
        span(rank, "clear", "clear", e, {{"step", known.step}});
        break;
    }
  }

  // Adds the messages of a start, in flight until its wait ends.
  void add_messages(int rank, std::size_t start, std::size_t wait) {
    const TraceEvent &from = events(rank)[start], &until = events(rank)[wait];
    const auto& labels = replayed_.events[static_cast<std::size_t>(rank)][start].labels;
    for (std::size_t i = 0; i < from.messages.size(); ++i) {
      const TracedMessage& m = from.messages[i];
      const bool send = m.kind == Op::kSend;
      const std::string peer = "rank " + std::to_string(m.peer);
      const std::string what = i < labels.size() ? labels[i] : counted(m.bytes.size, "byte");
      const std::string name = (send ? "send " + what + " to " : "recv " + what + " from ") + peer;
      const Json same{{"cat", send ? "send" : "recv"}, {"id", ++last_id_}};
      Json first = same;
      first["args"] = {{"bytes", m.bytes.size}, {"peer", m.peer}};
      put("b", rank, name, from.begin, std::move(first));
      put("e", rank, name, until.end, same);
      add_arrow(rank, m, send ? from : until);
    }
  }

  // Adds one end of the arrow from a send's start to the wait that ends its receive. Both ends count the
  // messages of their pair of ranks, which arrive in the order in which they were sent.
  void add_arrow(int rank, const TracedMessage& m, const TraceEvent& e) {
    const bool send = m.kind == Op::kSend;
    const std::pair between = send ? std::pair{rank, m.peer} : std::pair{m.peer, rank};
    const std::string id = std::to_string(between.first) + ">" + std::to_string(between.second) + "#" +
                           std::to_string(send ? sent_[between]++ : received_[between]++);
    Json more{{"cat", "message"}, {"id", id}};
    if (!send) more["bp"] = "e";  // ends in the enclosing span
    put(send ? "s" : "f", rank, "message", send ? e.begin : e.end, std::move(more));
  }

  const Trace& trace_;
  const Replay& replayed_;
  TraceClock clock_;
  std::string list_;  // as text, which takes a tenth of the memory of a tree
  int last_id_ = 0;
  std::map<std::pair<int, int>, int> sent_, received_;
};

}  // namespace

std::string chrome_events(const Trace& trace, const Replay& replayed, TraceClock clock) {
  return Writer(trace, replayed, clock).text();
}

}  // namespace ringcraft::verify
