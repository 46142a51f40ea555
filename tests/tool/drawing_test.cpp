// Drawings of a timeline, letter by letter, and the traces of a job's ranks brought together.
#include "tool/trace/drawing.hpp"

#include <chrono>
#include <thread>

#include "ringcraft/comm/exchange.hpp"
#include "ringcraft/comm/threads.hpp"
#include "support/catch.hpp"
#include "tool/jobs/gather_trace.hpp"
#include "tool/trace/time_axis.hpp"

namespace ringcraft::tool {
namespace {

using verify::Activity;
using verify::Lane;
using verify::Timeline;

Lane lane(std::vector<verify::Stretch> stretches) {
  Lane lane;
  for (const verify::Stretch& s : stretches)
    lane.seconds[static_cast<std::size_t>(s.activity)] += s.end - s.begin;
  lane.stretches = std::move(stretches);
  return lane;
}

Timeline tiny() {
  Timeline timeline{0.04, {}, {{0, 1, 0.004, 0.03}}};
  timeline.lanes.push_back(lane(
      {{Activity::kCopy, 0, 0.004}, {Activity::kOverlap, 0.004, 0.02}, {Activity::kCompute, 0.02, 0.04}}));
  timeline.lanes.push_back(lane({{Activity::kWait, 0, 0.03}, {Activity::kIdle, 0.03, 0.04}}));
  timeline.lanes[0].bytes_sent = 2'500'000;
  timeline.lanes[0].messages_sent = 1;
  timeline.lanes[0].starting = 0.001;
  timeline.lanes[1].peak_bytes = 64;
  return timeline;
}

}  // namespace

TEST_CASE("a tiny timeline is drawn with one sign per activity") {
  const Timeline timeline = tiny();
  const Drawing drawing{timeline, {0, 1}, "a title"};
  CHECK(lanes_text(drawing, 48, verify::Colour::kPlain) == R"(a title

rank 0 ~~~~%%%%%%%%%%%%%%%%####################
rank 1 ------------------------------..........
       |                   |                  |
       0                   20                 40 ms

## computes, no message under way
%% computes while messages are under way
~~ messages alone are under way
-- waits for messages  .. nothing recorded
)");
  CHECK(lanes_text(drawing, 48, verify::Colour::kTerminal).find("\x1b[31m----") != std::string::npos);
  CHECK(sums_text(drawing) ==
        "  rank  computes, ms      share      waits, ms    starts, ms        sent  messages  peak memory\n"
        "     0          36.0     90.0 %            0.0           1.0     2.50 MB         1          0 B\n"
        "     1           0.0      0.0 %           30.0           0.0         0 B         0         64 B\n");
}

TEST_CASE("an SVG has a box for each stretch, an arrow for each message, and escapes its title") {
  const Timeline timeline = tiny();
  const std::string svg = svg_text({timeline, {0, 1}, "a <b> & \"c\""});
  const auto count = [&](std::string_view words) {
    std::size_t found = 0;
    for (auto at = svg.find(words); at != svg.npos; at = svg.find(words, at + 1)) ++found;
    return found;
  };
  CHECK(count("class=\"overlap\"/>") == 2);  // and one in the legend
  CHECK(count("class=\"wait\"/>") == 2);
  CHECK(count("marker-end") == 1);
  CHECK(svg.find("<title>a &lt;b&gt; &amp; &quot;c&quot;</title>") != svg.npos);
  CHECK(svg.find("<b>") == svg.npos);
  CHECK(svg_text({timeline, {0}, "t"}).find("1 rank left out") != std::string::npos);
}

TEST_CASE("a timeline without time is drawn, too") {
  const Timeline timeline{0, std::vector<Lane>(2), {}};
  CHECK(lanes_text({timeline, {0, 1}, "t"}, 40, verify::Colour::kPlain).find("rank 1 ....") !=
        std::string::npos);
  CHECK(svg_text({timeline, {0, 1}, "t"}).find("nan") == std::string::npos);
}

TEST_CASE("a time axis has the unit that fits and round ticks") {
  const auto labels = [](double seconds, std::size_t most) {
    const TimeAxis axis(seconds);
    std::string text;
    for (const TimeAxis::Tick& tick : axis.ticks(most)) text += tick.label + " ";
    return text + axis.unit();
  };
  CHECK(labels(0.04, 3) == "0 20 40 ms");
  CHECK(labels(12, 8) == "0 2 4 6 8 10 12 s");
  CHECK(labels(0.99e-3, 5) == "0 500 us");
  CHECK(labels(7e-9, 9) == "0 1 2 3 4 5 6 7 ns");
  CHECK(labels(0, 5) == "0 s");
  for (int i = 1; i < 400; ++i) CHECK(TimeAxis(i * 0.037).ticks(6).size() <= 6);
  CHECK(TimeAxis(0.0123).words(0.0123) == "12.3 ms");
}

TEST_CASE("the traces of ranks with clocks of their own come together on that of rank 0") {
  const bool one_host = GENERATE(true, false);
  constexpr int kRanks = 3;
  const Problem problem = make_problem({1, 1, 1, 6, 1}, full_mask(), Layout::kContiguous, kRanks);
  double error = -1;
  std::optional<Trace> together;
  std::vector<double> before(kRanks), after(kRanks);  // the event, on a clock of all
  const auto origin = std::chrono::steady_clock::now();
  const auto seconds = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - origin).count();
  };
  run_ranks(kRanks, [&](ThreadCommunicator& comm) {
    const int rank = comm.rank();
    const auto r = static_cast<std::size_t>(rank);
    std::this_thread::sleep_for(std::chrono::milliseconds(40 * rank));  // traces begin at different times
    Trace own(kRanks);
    TraceEvent event;
    event.kind = TraceEvent::kAdd;
    event.tensors = {{"dk", TracedTensor::kUpdate, {}},
                     {"dv", TracedTensor::kUpdate, {}},
                     {"dk", TracedTensor::kRead, {}},
                     {"dv", TracedTensor::kRead, {}}};
    before[r] = seconds();
    own.rank(rank).end(own.rank(rank).begin(event));
    after[r] = seconds();
    CommunicatorMeeting meeting(comm);
    const double found = gather_trace(meeting, problem, own, one_host ? "a host" : "");
    if (rank != 0) return;
    error = found;
    together = std::move(own);
  });
  REQUIRE(together);
  CHECK((error > 0) == !one_host);
  CHECK(error < 1);
  const double first = together->rank(0).events().at(0).begin.wall;
  CHECK(first == 0);
  for (int rank = 1; rank < kRanks; ++rank) {
    REQUIRE(together->rank(rank).events().size() == 1);
    const auto r = static_cast<std::size_t>(rank);
    const double apart = together->rank(rank).events()[0].begin.wall - first;
    CHECK(apart >= before[r] - after[0] - error);
    CHECK(apart <= after[r] - before[0] + error);
  }
}

}  // namespace ringcraft::tool
