// The picture of a trace: well-formed, its spans nest, every message has two ends, its totals are the
// counters', and blocks are called by their names.
#include "verify/schedule/chrome_trace.hpp"

#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "support/catch.hpp"
#include "support/effort.hpp"
#include "support/random_problem.hpp"
#include "verify/ladder/subject.hpp"
#include "verify/oracle/cases.hpp"

namespace ringcraft::verify {
namespace {

using Json = nlohmann::json;

struct Recorded {
  Problem problem;
  Measurement cost;
};

Recorded recorded(const Problem& problem, Schedule schedule, RanksOptions options = {}) {
  options.options.schedule = schedule;
  options.trace = true;
  Recorded run{problem, {}};
  run_over_ranks(problem, make_inputs(make_case(problem, Data::kNormal, 3), DType::kFloat64), options,
                 &run.cost);
  return run;
}

Json drawn(const PassCost& pass, const Problem& problem, TraceClock clock = TraceClock::kWall) {
  const Json events = Json::parse(chrome_events(*pass.trace, replay(*pass.trace, problem), clock));
  REQUIRE(events.is_array());
  return events;
}

// Complete events of a rank follow each other or lie inside of each other.
void check_nesting(const Json& events, int ranks) {
  for (int rank = 0; rank < ranks; ++rank) {
    std::vector<double> ends;  // of the spans around the present one
    double last = 0;
    for (const Json& e : events) {
      if (e["ph"] != "X" || e["pid"] != rank) continue;
      const double begin = e["ts"], end = begin + e["dur"].get<double>();
      CHECK(begin >= last);
      last = begin;
      CHECK(e["dur"].get<double>() >= 0);
      while (!ends.empty() && ends.back() <= begin) ends.pop_back();
      if (!ends.empty()) CHECK(end <= ends.back());
      ends.push_back(end);
    }
  }
}

// Every message begins and ends once, in this order; every arrow has a tail and a head on two ranks.
void check_pairs(const Json& events) {
  std::map<int, int> open;
  std::map<std::string, int> tails, heads;
  for (const Json& e : events) {
    if (e["ph"] == "b") CHECK(++open[e["id"].get<int>()] == 1);
    if (e["ph"] == "e") CHECK(--open[e["id"].get<int>()] == 0);
    if (e["ph"] == "s") CHECK(tails.emplace(e["id"], e["pid"]).second);
    if (e["ph"] == "f") CHECK(heads.emplace(e["id"], e["pid"]).second);
  }
  for (const auto& [id, count] : open) CHECK(count == 0);
  REQUIRE(tails.size() == heads.size());
  for (const auto& [id, rank] : tails) {
    REQUIRE(heads.contains(id));
    CHECK(heads.at(id) != rank);
  }
}

Index sum_of(const Json& events, int rank, const char* category, const char* argument) {
  Index sum = 0;
  for (const Json& e : events)
    if ((e["ph"] == "b" || e["ph"] == "X") && e["pid"] == rank && e["cat"] == category)
      sum += e["args"][argument].get<Index>();
  return sum;
}

}  // namespace

TEST_CASE("a picture is well-formed, nests, and adds up to the counters") {
  Random random(401);
  for (int trial = 0; trial < (testing::tries_fewer() ? 6 : 30); ++trial) {
    const Problem problem = testing::random_problem(random, 6, 30);
    const Schedule schedule = trial % 2 == 0 ? Schedule::kForward : Schedule::kReversed;
    INFO(testing::described(problem));
    const Recorded run = recorded(problem, schedule);
    for (const PassCost* pass : {&run.cost.forward, &run.cost.backward}) {
      const Json events = drawn(*pass, problem);
      check_nesting(events, problem.world_size);
      check_pairs(events);
      const char* category = pass == &run.cost.forward ? "forward" : "backward";
      for (int rank = 0; rank < problem.world_size; ++rank) {
        const auto r = static_cast<std::size_t>(rank);
        CHECK(sum_of(events, rank, "send", "bytes") == pass->traffic[r].bytes_sent);
        CHECK(sum_of(events, rank, "recv", "bytes") == pass->traffic[r].bytes_received);
        CHECK(sum_of(events, rank, category, "pairs") == pass->work[r].pairs);
      }
    }
  }
}

TEST_CASE("spans and messages bear the names of their blocks") {
  const Problem problem = make_problem({1, 2, 1, 12, 4}, full_mask(), Layout::kZigzag, 3);
  const Recorded run = recorded(problem, Schedule::kForward);
  std::set<std::string> names;
  for (const Json& e : drawn(run.cost.forward, problem)) names.insert(e["name"].get<std::string>());
  for (const char* name : {"q0 x K0", "q0 x K2", "q0 x K1", "q2 x K0", "send K0 to rank 1",
                           "recv V2 from rank 2", "send V1 to rank 2", "recv K1 from rank 2"})
    CHECK(names.contains(name));
  names.clear();
  for (const Json& e : drawn(run.cost.backward, problem)) names.insert(e["name"].get<std::string>());
  for (const char* name : {"send dK0 to rank 1", "recv dV0 from rank 2", "add to dK2", "q1 x K0"})
    CHECK(names.contains(name));
}

TEST_CASE("on the virtual clock a picture shows the exact times") {
  // Two ranks, full, 8 tokens each: every block costs 64, a hop of K and V costs 10 and is hidden under it.
  const Problem problem = make_problem({1, 1, 1, 16, 2}, full_mask(), Layout::kContiguous, 2);
  const Recorded run =
      recorded(problem, Schedule::kReversed, {.board = {.link = {.alpha = 10}}, .seconds_per_pair = 1});
  for (const Json& e : drawn(run.cost.forward, problem, TraceClock::kVirtual)) {
    if (e["ph"] != "X" || e["cat"] != "forward") continue;
    CHECK(e["dur"].get<double>() == Approx(64e6));
    CHECK(e["ts"].get<double>() == Approx(e["args"]["step"].get<int>() * 64e6).margin(1e-6));
  }
}

TEST_CASE("a rank's memory is drawn, and its top is the peak of the pass") {
  const Problem problem = make_problem({1, 4, 2, 23, 4}, causal_mask(), Layout::kZigzag, 3);
  const Recorded run = recorded(problem, Schedule::kReversed);
  std::vector<Index> top(3, 0);
  for (const Json& e : drawn(run.cost.forward, problem))
    if (e["ph"] == "C") {
      Index& most = top[e["pid"].get<std::size_t>()];
      most = std::max(most, e["args"]["bytes"].get<Index>());
    }
  CHECK(top == run.cost.forward.peak_bytes);
}

}  // namespace ringcraft::verify
