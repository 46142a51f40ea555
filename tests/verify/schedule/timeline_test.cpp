// The timeline of a trace: its stretches fill the time of every rank, add up to the times of the events, and
// are those of a schedule that a person can follow.
#include "verify/schedule/timeline.hpp"

#include "support/catch.hpp"
#include "support/effort.hpp"
#include "support/random_problem.hpp"
#include "verify/ladder/subject.hpp"
#include "verify/oracle/cases.hpp"

namespace ringcraft::verify {
namespace {

TraceEvent event(TraceEvent::Kind kind, double begin, double end) {
  TraceEvent e;
  e.kind = kind;
  e.begin.wall = begin;
  e.end.wall = end;
  e.ended = true;
  return e;
}

TraceEvent start(double begin, double end, std::vector<TracedMessage> messages) {
  TraceEvent e = event(TraceEvent::kStart, begin, end);
  e.messages = std::move(messages);
  return e;
}

TraceEvent wait(double begin, double end, std::size_t waits_for) {
  TraceEvent e = event(TraceEvent::kWait, begin, end);
  e.waits_for = waits_for;
  return e;
}

// "compute 0-2", ...
std::string text_of(const Lane& lane) {
  constexpr const char* kNames[] = {"compute", "overlap", "copy", "wait", "idle"};
  std::string text;
  for (const Stretch& s : lane.stretches)
    text += std::string(text.empty() ? "" : ", ") + kNames[static_cast<std::size_t>(s.activity)] + " " +
            std::to_string(std::lround(s.begin)) + "-" + std::to_string(std::lround(s.end));
  return text;
}

void check_partition(const Timeline& timeline) {
  for (const Lane& lane : timeline.lanes) {
    double at = 0, sum = 0;
    for (std::size_t i = 0; i < lane.stretches.size(); ++i) {
      const Stretch& s = lane.stretches[i];
      CHECK(s.begin == at);
      CHECK(s.end > s.begin);
      if (i > 0) CHECK(s.activity != lane.stretches[i - 1].activity);
      at = s.end;
    }
    CHECK(at == timeline.seconds);
    for (const double seconds : lane.seconds) sum += seconds;
    CHECK(sum == Approx(timeline.seconds));
  }
}

}  // namespace

TEST_CASE("a timeline of recorded runs has neither gaps nor overlaps, and the sums of the events") {
  Random random(9);
  for (int trial = 0; trial < (testing::tries_fewer() ? 6 : 40); ++trial) {
    const Problem problem = testing::random_problem(random, 6, 30);
    INFO(testing::described(problem));
    Measurement cost;
    run_over_ranks(problem, make_inputs(make_case(problem, Data::kNormal, 3), DType::kFloat64),
                   {.board = {.link = {.alpha = 3, .beta = 2}}, .seconds_per_pair = 1, .trace = true}, &cost);
    for (const TraceClock clock : {TraceClock::kWall, TraceClock::kVirtual})
      for (const PassCost* pass : {&cost.forward, &cost.backward}) {
        const Timeline timeline = timeline_of(*pass->trace, clock);
        check_partition(timeline);
        Index messages = 0;
        for (int rank = 0; rank < problem.world_size; ++rank) {
          const auto r = static_cast<std::size_t>(rank);
          const Lane& lane = timeline.lanes[r];
          double waiting = 0;
          for (const TraceEvent& e : pass->trace->rank(rank).events())
            if (e.kind == TraceEvent::kWait) waiting += seconds_on(clock, e.end) - seconds_on(clock, e.begin);
          CHECK(lane.in(Activity::kWait) == Approx(waiting).margin(1e-12));
          CHECK(lane.bytes_sent == pass->traffic[r].bytes_sent);
          CHECK(lane.messages_sent == pass->traffic[r].messages_sent);
          CHECK(lane.peak_bytes <= pass->peak_bytes[r]);
          messages += lane.messages_sent;
        }
        CHECK(static_cast<Index>(timeline.arrows.size()) == messages);
        for (const Arrow& arrow : timeline.arrows) CHECK(arrow.sent <= arrow.received);
      }
  }
}

TEST_CASE("a timeline tells computing, hidden messages, waiting and nothing apart") {
  Trace trace(2);
  trace.rank(0).append(event(TraceEvent::kHolds, 90, 90));  // no part of the picture
  trace.rank(0).append(start(100, 101, {{Op::kSend, 1, {64, 8}}}));
  trace.rank(0).append(event(TraceEvent::kForward, 102, 106));
  trace.rank(0).append(wait(107, 110, 1));
  trace.rank(0).append(event(TraceEvent::kAdd, 110, 112));
  trace.rank(1).append(start(103, 104, {{Op::kRecv, 0, {64, 8}}}));
  trace.rank(1).append(wait(104, 109, 0));
  const Timeline timeline = timeline_of(trace);
  check_partition(timeline);
  CHECK(timeline.seconds == 12);
  CHECK(text_of(timeline.lanes[0]) == "copy 0-2, overlap 2-6, copy 6-7, wait 7-10, compute 10-12");
  CHECK(text_of(timeline.lanes[1]) == "idle 0-3, copy 3-4, wait 4-9, idle 9-12");
  CHECK(timeline.lanes[0].computing() == 6);
  CHECK(timeline.lanes[0].starting == 1);
  REQUIRE(timeline.arrows.size() == 1);
  CHECK(timeline.arrows[0].from == 0);
  CHECK(timeline.arrows[0].to == 1);
  CHECK(timeline.arrows[0].sent == 0);
  CHECK(timeline.arrows[0].received == 9);
}

TEST_CASE("messages that nothing waits for stay under way, and an empty trace has no time") {
  Trace trace(2);
  trace.rank(0).append(start(0, 1, {{Op::kSend, 1, {64, 8}}}));
  trace.rank(0).append(event(TraceEvent::kForward, 2, 4));
  const Timeline timeline = timeline_of(trace);
  CHECK(text_of(timeline.lanes[0]) == "copy 0-2, overlap 2-4");
  CHECK(text_of(timeline.lanes[1]) == "idle 0-4");
  CHECK(timeline.arrows.empty());
  check_partition(timeline_of(Trace(3)));
  CHECK(timeline_of(Trace(3)).seconds == 0);
}

TEST_CASE("of many ranks the first, the last and the slowest are shown") {
  Timeline timeline;
  timeline.lanes.resize(1000);
  for (const int slow : {417, 600, 601}) timeline.lanes[static_cast<std::size_t>(slow)].seconds[0] = slow;
  CHECK(typical_ranks(timeline, 8) == std::vector{0, 1, 2, 417, 600, 601, 998, 999});
  CHECK(typical_ranks(timeline, 1) == std::vector{0});
  CHECK(typical_ranks(timeline, 1000).size() == 1000);
}

}  // namespace ringcraft::verify
