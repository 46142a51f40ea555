// Sweeps over the borders of each rank's events: between two of them its occupation does not change.
#include "verify/schedule/timeline.hpp"

#include <algorithm>
#include <deque>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <utility>

namespace ringcraft::verify {
namespace {

bool computes(TraceEvent::Kind kind) {
  return kind == TraceEvent::kForward || kind == TraceEvent::kBackward || kind == TraceEvent::kAdd ||
         kind == TraceEvent::kCopy || kind == TraceEvent::kClear;
}

// Places every time of one clock between the first and the last one of the trace. A statement (kHolds) takes
// no time and is no part of the picture.
class Axis {
 public:
  Axis(const Trace& trace, TraceClock clock) : clock_(clock) {
    double first = std::numeric_limits<double>::infinity(), last = -first;
    for (int rank = 0; rank < trace.world_size(); ++rank)
      for (const TraceEvent& e : trace.rank(rank).events()) {
        if (e.kind == TraceEvent::kHolds || e.kind == TraceEvent::kGives) continue;
        first = std::min(first, seconds_on(clock_, e.begin));
        last = std::max(last, seconds_on(clock_, e.end));
      }
    if (first > last) return;
    first_ = first;
    length_ = last - first;
  }

  double length() const { return length_; }
  double operator()(const TraceTime& time) const {
    return std::clamp(seconds_on(clock_, time) - first_, 0.0, length_);
  }

 private:
  TraceClock clock_;
  double first_ = 0, length_ = 0;
};

// Changes for a rank at one time: +1 where an event begins, -1 where it ends.
struct Border {
  double at = 0;
  int waiting = 0, computing = 0, starting = 0, under_way = 0;
};

Activity activity_of(const Border& now) {
  if (now.waiting > 0) return Activity::kWait;
  if (now.computing > 0) return now.under_way > 0 ? Activity::kOverlap : Activity::kCompute;
  return now.starting > 0 || now.under_way > 0 ? Activity::kCopy : Activity::kIdle;
}

std::vector<Border> borders_of(const std::vector<TraceEvent>& events, const Axis& axis) {
  std::vector<Border> borders;
  const auto add = [&](double begin, double end, int Border::*what) {
    for (const auto& [at, change] : {std::pair{begin, 1}, {end, -1}}) {
      borders.push_back({.at = at});
      borders.back().*what = change;
    }
  };
  std::set<std::size_t> open;  // starts not waited for
  for (std::size_t i = 0; i < events.size(); ++i) {
    const TraceEvent& e = events[i];
    const double begin = axis(e.begin), end = axis(e.end);
    if (e.kind == TraceEvent::kWait) {
      add(begin, end, &Border::waiting);
      if (open.erase(e.waits_for) > 0) add(axis(events[e.waits_for].begin), end, &Border::under_way);
    }
    if (computes(e.kind)) add(begin, end, &Border::computing);
    if (e.kind == TraceEvent::kStart) {
      add(begin, end, &Border::starting);
      open.insert(i);
    }
  }
  for (const std::size_t start : open) add(axis(events[start].begin), axis.length(), &Border::under_way);
  borders.push_back({.at = axis.length()});
  std::ranges::stable_sort(borders, {}, &Border::at);
  return borders;
}

void add_stretch(Lane& lane, Activity activity, double begin, double end) {
  if (begin >= end) return;
  lane.seconds[static_cast<std::size_t>(activity)] += end - begin;
  if (!lane.stretches.empty() && lane.stretches.back().activity == activity)
    lane.stretches.back().end = end;
  else
    lane.stretches.push_back({activity, begin, end});
}

Lane lane_of(const std::vector<TraceEvent>& events, const Axis& axis) {
  Lane lane;
  Border now;
  for (const Border& border : borders_of(events, axis)) {
    add_stretch(lane, activity_of(now), now.at, border.at);
    now = {border.at, now.waiting + border.waiting, now.computing + border.computing,
           now.starting + border.starting, now.under_way + border.under_way};
  }
  for (const TraceEvent& e : events) {
    lane.peak_bytes = std::max(lane.peak_bytes, e.live_bytes);
    if (e.kind == TraceEvent::kStart) lane.starting += axis(e.end) - axis(e.begin);
    for (const TracedMessage& m : e.messages)
      if (m.kind == Op::kSend) {
        lane.bytes_sent += m.bytes.size;
        ++lane.messages_sent;
      }
  }
  return lane;
}

// Between two ranks messages arrive in the order in which they were sent.
std::vector<Arrow> arrows_of(const Trace& trace, const Axis& axis) {
  std::map<std::pair<int, int>, std::deque<double>> sent;
  for (int rank = 0; rank < trace.world_size(); ++rank)
    for (const TraceEvent& e : trace.rank(rank).events())
      for (const TracedMessage& m : e.messages)
        if (m.kind == Op::kSend) sent[{rank, m.peer}].push_back(axis(e.begin));
  std::vector<Arrow> arrows;
  for (int rank = 0; rank < trace.world_size(); ++rank) {
    const auto& events = trace.rank(rank).events();
    std::map<std::size_t, double> ended;  // by start: the end of its wait
    for (const TraceEvent& e : events)
      if (e.kind == TraceEvent::kWait) ended[e.waits_for] = axis(e.end);
    for (std::size_t i = 0; i < events.size(); ++i)
      for (const TracedMessage& m : events[i].messages) {
        auto& queue = sent[{m.peer, rank}];
        if (m.kind != Op::kRecv || queue.empty()) continue;
        if (ended.contains(i)) arrows.push_back({m.peer, rank, queue.front(), ended[i]});
        queue.pop_front();
      }
  }
  return arrows;
}

}  // namespace

Timeline timeline_of(const Trace& trace, TraceClock clock) {
  const Axis axis(trace, clock);
  Timeline timeline{axis.length(), {}, arrows_of(trace, axis)};
  for (int rank = 0; rank < trace.world_size(); ++rank)
    timeline.lanes.push_back(lane_of(trace.rank(rank).events(), axis));
  return timeline;
}

std::vector<int> typical_ranks(const Timeline& timeline, std::size_t most) {
  std::vector<int> all(timeline.lanes.size());
  std::iota(all.begin(), all.end(), 0);
  if (all.size() <= most) return all;
  const std::size_t first = (most + 2) / 3, last = most / 3;
  const auto middle = all.begin() + static_cast<std::ptrdiff_t>(first),
             tail = all.end() - static_cast<std::ptrdiff_t>(last);
  std::stable_sort(middle, tail, [&](int a, int b) {
    return timeline.lanes[static_cast<std::size_t>(a)].computing() >
           timeline.lanes[static_cast<std::size_t>(b)].computing();
  });
  all.erase(middle + static_cast<std::ptrdiff_t>(most - first - last), tail);
  std::ranges::sort(all);
  return all;
}

}  // namespace ringcraft::verify
