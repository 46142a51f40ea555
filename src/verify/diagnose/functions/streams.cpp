// Explains calls on streams in a wrong order: where the two events of an exchange are recorded and awaited,
// each as a law over all starts and waits.
#include "verify/diagnose/functions/streams.hpp"

#include <algorithm>

namespace ringcraft::verify {
namespace {

using streams::all_of;
using streams::Asked;

// Place of the first call that fits; the number of calls if none does.
template <class Fits>
std::size_t place_of(const Asked& a, Fits fits) {
  return static_cast<std::size_t>(std::ranges::find_if(a.calls, fits) - a.calls.begin());
}
std::size_t place_of(const Asked& a, StreamCall::Kind kind, int event,
                     std::optional<RankStream> stream = {}) {
  return place_of(a, [&](const StreamCall& c) {
    return c.kind == kind && c.event == event && (!stream || c.stream == *stream);
  });
}
// Where the host waits for a stream.
std::size_t place_of_host(const Asked& a, RankStream stream) {
  return place_of(
      a, [=](const StreamCall& c) { return c.kind == StreamCall::kSynchronize && c.stream == stream; });
}
// Where the first operation enters its stream, or the group of it begins; and where the last one has.
std::size_t first_operation(const Asked& a) {
  return place_of(a,
                  [](const StreamCall& c) { return streams::moves(c) || c.kind == StreamCall::kGroupStart; });
}
std::size_t last_operation(const Asked& a) {
  std::size_t last = 0;
  for (std::size_t i = 0; i < a.calls.size(); ++i)
    if (streams::moves(a.calls[i]) || a.calls[i].kind == StreamCall::kGroupEnd) last = i;
  return last;
}

constexpr const char* kReadyQuestion =
    "What tells the communication stream that the computation so far has ended?";
constexpr const char* kDoneQuestion = "At which place of which stream have all messages of this start ended?";
constexpr const char* kWaitQuestion =
    "Which stream needs the received bytes, and which event says that they are there?";

constexpr RankStream kCompute = RankStream::kCompute, kCopies = RankStream::kCommunication;
constexpr StreamCall::Kind kRecord = StreamCall::kRecord, kWait = StreamCall::kWait;

std::optional<Cause> cause_of_ready(const std::vector<Asked>& starts) {
  const auto say = [](const char* words) { return Cause{"solved-streams-ready", words, kReadyQuestion}; };
  const auto at = [](const Asked& a, StreamCall::Kind kind, std::optional<RankStream> stream = {}) {
    return place_of(a, kind, a.events.ready, stream);
  };
  const auto has = [&](const Asked& a, StreamCall::Kind kind, std::optional<RankStream> stream = {}) {
    return at(a, kind, stream) < a.calls.size();
  };
  if (all_of(starts, [&](const Asked& a) { return !has(a, kRecord) && !has(a, kWait); }))
    return say("nothing orders the messages after the computation so far: ready is not used");
  if (all_of(starts, [&](const Asked& a) { return !has(a, kRecord); }))
    return say("ready is awaited and never recorded");
  if (all_of(starts, [&](const Asked& a) { return !has(a, kRecord, kCompute); }))
    return say("ready is recorded on the communication stream, where nothing computes");
  if (all_of(starts, [&](const Asked& a) { return at(a, kRecord) > last_operation(a); }))
    return say("ready is recorded only after the messages");
  if (all_of(starts, [&](const Asked& a) { return !has(a, kWait); }))
    return say("ready is recorded, and no stream waits for it");
  if (all_of(starts, [&](const Asked& a) { return !has(a, kWait, kCopies); }))
    return say(
        "the compute stream waits for ready, which is on itself, and the communication stream does not");
  if (all_of(starts, [&](const Asked& a) { return at(a, kWait, kCopies) < at(a, kRecord, kCompute); }))
    return say("the wait for ready comes before its record: it finds an event that nothing has set");
  if (all_of(starts, [&](const Asked& a) { return at(a, kWait, kCopies) > last_operation(a); }))
    return say("the communication stream waits for ready only after the messages");
  return {};
}

std::optional<Cause> cause_of_done(const std::vector<Asked>& starts) {
  const auto say = [](const char* words) { return Cause{"solved-streams-done", words, kDoneQuestion}; };
  const auto at = [](const Asked& a, std::optional<RankStream> stream = {}) {
    return place_of(a, kRecord, a.events.done, stream);
  };
  if (all_of(starts, [&](const Asked& a) { return at(a) == a.calls.size(); }))
    return say("done is never recorded in start");
  if (all_of(starts, [&](const Asked& a) { return at(a, kCopies) == a.calls.size(); }))
    return say("done is recorded on the compute stream, where no message ends");
  if (all_of(starts, [&](const Asked& a) { return at(a, kCopies) < first_operation(a); }))
    return say("done is recorded before the messages");
  if (all_of(starts, [&](const Asked& a) { return at(a, kCopies) < last_operation(a); }))
    return say(
        "done is recorded before the last message, or before its group is closed, has entered the stream");
  return {};
}

// Waits in start that hold the compute stream up.
std::optional<Cause> cause_of_eagerness(const std::vector<Asked>& starts) {
  if (all_of(starts,
             [](const Asked& a) { return place_of(a, kWait, a.events.done, kCompute) < a.calls.size(); }))
    return Cause{"solved-streams-at-once",
                 "start lets the compute stream wait for done at once: what is computed later waits as well",
                 "Start says that messages may move, wait that they must have: which of them needs done?"};
  return {};
}

std::optional<Cause> cause_of_host(const std::vector<Asked>& asked, const char* which) {
  for (const RankStream stream : {kCompute, kCopies})
    if (all_of(asked, [=](const Asked& a) { return place_of_host(a, stream) < a.calls.size(); }))
      return Cause{"solved-streams-host",
                   std::string("in ") + which + " the host waits for the " +
                       (stream == kCompute ? "compute" : "communication") + " stream",
                   "What could the host enqueue in this time?"};
  return {};
}

std::optional<Cause> cause_of_wait(const std::vector<Asked>& waits) {
  const auto say = [](const char* words) { return Cause{"solved-streams-wait", words, kWaitQuestion}; };
  const auto has = [](const Asked& a, int event, std::optional<RankStream> stream = {}) {
    return place_of(a, kWait, event, stream) < a.calls.size();
  };
  if (all_of(waits, [&](const Asked& a) { return has(a, a.events.done, kCompute); })) return {};
  if (all_of(waits, [&](const Asked& a) { return has(a, a.events.done); }))
    return say(
        "the communication stream waits for done, which is on itself, and the compute stream does not");
  if (all_of(waits, [&](const Asked& a) { return has(a, a.events.ready); }))
    return say("wait takes ready instead of done: it holds as soon as the messages may begin");
  if (all_of(waits, [](const Asked& a) { return a.calls.empty(); }))
    return say("wait puts nothing on a stream");
  if (all_of(waits, [&](const Asked& a) { return !has(a, a.events.done); }))
    return say("no stream waits for done in wait");
  return {};
}

// Explains events that are used for each other's purpose, or one for both.
std::optional<Cause> cause_of_purposes(const std::vector<Asked>& starts, const std::vector<Asked>& waits) {
  const auto say = [](const std::string& words) {
    return Cause{"solved-streams-purpose", words,
                 "Which of the two events says that the messages may begin, and which that they have ended?"};
  };
  const auto exchanged = [](std::vector<Asked> asked) {
    for (Asked& a : asked) std::swap(a.events.ready, a.events.done);
    return asked;
  };
  const std::vector<Asked> other_starts = exchanged(starts), other_waits = exchanged(waits);
  if (!cause_of_ready(other_starts) && !cause_of_done(other_starts) && !cause_of_wait(other_waits))
    return say("the two events are exchanged: done is recorded before the messages, and ready after them");
  const auto marks_both = [](const Asked& a, int event) {
    const auto last = std::ranges::find_if(a.calls.rbegin(), a.calls.rend(), [&](const StreamCall& c) {
      return c.kind == kRecord && c.event == event && c.stream == kCopies;
    });
    return place_of(a, kRecord, event, kCompute) < first_operation(a) && last != a.calls.rend() &&
           static_cast<std::size_t>(a.calls.rend() - last) > last_operation(a);
  };
  if (all_of(starts, [&](const Asked& a) { return marks_both(a, a.events.ready); }))
    return say("ready is recorded for both purposes, before the messages and after them");
  if (all_of(starts, [&](const Asked& a) { return marks_both(a, a.events.done); }))
    return say("done is recorded for both purposes, before the messages and after them");
  return {};
}

std::optional<Cause> cause_of_events(const std::vector<Asked>& asked) {
  for (const bool same : {true, false}) {
    bool any = false;
    const bool all = all_of(asked, [&](const Asked& a) {
      return std::ranges::all_of(a.calls, [&](const StreamCall& c) {
        if ((c.kind != kRecord && c.kind != kWait) || c.event == a.events.ready || c.event == a.events.done)
          return true;
        any = true;
        return same == (c.event == 0 || c.event == 1);
      });
    });
    if (any && all)
      return Cause{"solved-streams-event",
                   same ? "the numbers 0 and 1 are taken for those of the events"
                        : "an event is used that belongs to no exchange, or to another one",
                   "Two exchanges may be under way at once: whose event is this?"};
  }
  return {};
}

}  // namespace

std::vector<Cause> causes_of(const StreamExhibit& x) {
  std::vector<Cause> causes;
  const auto add = [&](const std::optional<Cause>& cause) {
    if (cause) causes.push_back(*cause);
  };
  std::vector<Asked> all = x.starts;
  all.insert(all.end(), x.waits.begin(), x.waits.end());
  add(cause_of_events(all));
  const std::vector<Cause> operations = streams::causes_of_operations(x.starts);
  causes.insert(causes.end(), operations.begin(), operations.end());
  add(streams::cause_of_groups(x.starts));
  if (causes.empty())
    if (auto purposes = cause_of_purposes(x.starts, x.waits)) return {*purposes};
  const bool host_orders =
      all_of(x.starts, [](const Asked& a) { return place_of_host(a, kCompute) < first_operation(a); });
  if (causes.empty() && !host_orders) add(cause_of_ready(x.starts));
  if (causes.empty()) add(cause_of_done(x.starts));
  add(cause_of_eagerness(x.starts));
  add(cause_of_host(x.starts, "start")), add(cause_of_host(x.waits, "wait"));
  add(cause_of_wait(x.waits));
  return together(std::move(causes));  // each is a law that the calls follow
}

}  // namespace ringcraft::verify
