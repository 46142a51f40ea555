// Files of right runs, each with one number, name or event falsified that the proof covers: every one must be
// refused or proved wrong. Times, live bytes, softmax_scale, backend and clock error are not covered.
#include <nlohmann/json.hpp>
#include <set>

#include "support/catch.hpp"
#include "support/effort.hpp"
#include "support/random_problem.hpp"
#include "verify/schedule/right_run.hpp"

namespace ringcraft::verify {
namespace {

// A ring in every second trial, else any method.
testing::Choice some_choice(Random& random, const Problem& problem, int trial) {
  const Schedule schedule = trial % 4 < 2 ? Schedule::kForward : Schedule::kReversed;
  if (trial % 2 == 0) return {&kRing, {.schedule = schedule}};
  const auto all = testing::choices(problem);
  return all[static_cast<std::size_t>(random.integer(0, std::ssize(all) - 1))];
}

// Heads that can be dealt.
Problem some_problem(Random& random, int trial) {
  Problem problem = testing::random_problem(random, 5, 14);
  if (trial % 2 == 1) problem.shape.heads = 4, problem.shape.kv_heads = 2;
  return problem;
}

// Whether the rank computes, sends or adds something in this event: the schedule is wrong without it.
bool does_something(const json& e) {
  if (e["kind"] == "copy" || e["kind"] == "gives") return true;
  if (e["kind"] == "begin" || e["kind"] == "clear") return e["tensors"][0]["bytes"] > 0;
  if (e["kind"] == "add") return e["tensors"][0]["bytes"] > 0;
  if (e["kind"] == "start") return !e["messages"].empty();
  return e.contains("pairs") && e["pairs"] > 0;
}

// Whether another event says where this tensor or message of event `number` lies. Of a single block, nothing
// else says it of some tensors.
bool has_witness(const json& events, std::size_t number, const json& one) {
  if (one.contains("name")) return one["name"] != "delta";
  if (one["kind"] == "send") return true;
  for (std::size_t later = number + 1; later < events.size(); ++later)
    for (const char* list : {"tensors", "messages"})
      for (std::size_t k = 0; events[later].contains(list) && k < events[later][list].size(); ++k)
        if (events[later][list][k]["address"] == one["address"]) return true;
  return false;
}

// The places of values that the proof covers.
std::vector<Pointer> covered(const json& run) {
  std::vector<Pointer> places;
  for (const char* name : {"batch", "heads", "kv_heads", "head_dim", "seqlen", "world_size"})
    places.push_back(Pointer("/problem") / name);
  for (std::size_t rank = 0; rank < run["ranks"].size(); ++rank)
    for (std::size_t i = 0; i < run["ranks"][rank].size(); ++i) {
      const json& e = run["ranks"][rank][i];
      if (!does_something(e)) continue;
      const Pointer at = Pointer("/ranks") / rank / i;
      places.push_back(at / "kind");
      for (const char* list : {"tensors", "messages"})
        for (std::size_t k = 0; e.contains(list) && k < e[list].size(); ++k)
          for (const auto& [name, value] : e[list][k].items())
            if (name != "address" || has_witness(run["ranks"][rank], i, e[list][k]))
              places.push_back(at / list / k / name);
      for (const char* list : {"key_begin", "key_end", "copied"})
        for (std::size_t k = 0; e.contains(list) && k < e[list].size(); ++k) places.push_back(at / list / k);
      if (e.contains("pairs")) places.push_back(at / "pairs");
    }
  return places;
}

json falsified(Random& random, const json& value) {
  if (value.is_string()) {
    const char* words[] = {"k",      "v",   "q", "out",  "dk",    "dq",   "send", "recv",  "read", "write",
                           "update", "add", "x", "copy", "gives", "from", "lse",  "begin", "clear"};
    return words[random.integer(0, std::size(words) - 1)];
  }
  const Index other[] = {-1, 1, 4, -4, 8, 64, value.get<Index>(), -value.get<Index>()};
  return value.get<Index>() + other[random.integer(0, std::size(other) - 1)];
}

}  // namespace

TEST_CASE("a falsified message, tensor, range or extent of a right run is refused or proved wrong") {
  Random random(305);
  const int problems = testing::long_run() ? 200 : 12, mutants = testing::long_run() ? 300 : 60;
  for (int trial = 0; trial < problems; ++trial) {
    const Problem problem = some_problem(random, trial);
    const testing::Choice choice = some_choice(random, problem, trial);
    INFO(testing::described(problem) << ", " << choice.name());
    const json right = right_run(problem, choice);
    std::string why;
    const bool good = passes(right, why);
    CAPTURE(why);
    REQUIRE(good);
    const std::vector<Pointer> places = covered(right);
    for (int i = 0; i < mutants; ++i) {
      const Pointer& place = places[static_cast<std::size_t>(random.integer(0, std::ssize(places) - 1))];
      json wrong = right;
      wrong[place] = falsified(random, right[place]);
      if (wrong == right) continue;
      INFO(place.to_string() << ": " << right[place] << " -> " << wrong[place]);
      CHECK_FALSE(passes(wrong, why));
      CHECK_FALSE(why.empty());
    }
  }
}

TEST_CASE("a right run without one of its events, or without a member, is refused or proved wrong") {
  Random random(306);
  const int problems = testing::long_run() ? 200 : 12, mutants = testing::long_run() ? 100 : 20;
  for (int trial = 0; trial < problems; ++trial) {
    const Problem problem = some_problem(random, trial);
    const testing::Choice choice = some_choice(random, problem, trial);
    INFO(testing::described(problem) << ", " << choice.name());
    const json right = right_run(problem, choice);
    std::string why;
    for (int i = 0; i < mutants; ++i) {
      json wrong = right;
      json& events = wrong["ranks"][static_cast<std::size_t>(random.integer(0, problem.world_size - 1))];
      if (events.empty()) continue;
      const auto gone = static_cast<std::size_t>(random.integer(0, std::ssize(events) - 1));
      if (random.integer(0, 1) == 0) {
        auto member = events[gone].begin();
        std::advance(member, random.integer(0, std::ssize(events[gone]) - 1));
        INFO("rank without " << member.key() << " of event " << gone);
        events[gone].erase(member);
        CHECK_FALSE(passes(wrong, why));
        continue;
      }
      if (!does_something(events[gone]) && events[gone]["kind"] != "wait") continue;
      INFO("without event " << gone << ", " << events[gone].dump());
      events.erase(gone);
      for (json& e : events)
        if (e["kind"] == "wait" && e["waits_for"] > gone)
          e["waits_for"] = e["waits_for"].get<std::size_t>() - 1;
      CHECK_FALSE(passes(wrong, why));
    }
  }
}

TEST_CASE("a run says no more than it did, and no less") {
  const json right =
      right_run(make_problem({1, 2, 1, 12, 2}, full_mask(), Layout::kContiguous, 3), {&kRing, {}});
  const auto wrong = [&](const char* place, const json& value, const char* sentence) {
    json changed = right;
    changed[Pointer(place)] = value;
    std::string why;
    CHECK_FALSE(passes(changed, why));
    CAPTURE(place, why);
    CHECK(why.find(sentence) != std::string::npos);
  };
  wrong("/pass", "forward", "computes a backward block in a run that has no backward pass");
  wrong("/ranks/1/4/end", nullptr, "stops there, by an error");
  wrong("/problem/head_dim", 3, "q has 64 bytes for 24 numbers");
  wrong("/ranks/0/1/owner", 1, "states that it holds K0 and holds K1 there");
  std::string twice = json{{"ringcraft", right}}.dump();
  twice.insert(twice.find("\"pass\""), "\"pass\":\"forward\",");
  CHECK_THROWS_WITH(read_trace(twice, "t.json"),
                    Catch::Contains("expected each member once, got pass twice"));
}

}  // namespace ringcraft::verify
