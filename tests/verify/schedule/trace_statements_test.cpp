// Files of right runs in which one statement is falsified: where a tensor is, where a sum begins, and what a
// copy moves.
#include <algorithm>
#include <set>

#include "support/catch.hpp"
#include "verify/schedule/right_run.hpp"

namespace ringcraft::verify {

namespace {

// Removes these events of every rank.
template <class Removed>
void remove_events(json& run, Removed removed) {
  for (json& events : run["ranks"])
    for (std::size_t i = events.size(); i-- > 0;)
      if (removed(events[i])) remove_event(events, i);
}

}  // namespace

TEST_CASE("sums begin where the trace says so, and on every rank") {
  const json right =
      right_run(make_problem({1, 2, 1, 12, 2}, full_mask(), Layout::kContiguous, 3), {&kRing, {}});
  // The verdict on a file without these events, of the first so many ranks.
  const auto without = [&](const std::set<std::string>& kinds, const char* name, std::size_t ranks) {
    json changed = right;
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      json& events = changed["ranks"][rank];
      for (std::size_t i = events.size(); i-- > 0;)
        if (kinds.contains(events[i]["kind"]) && (name == nullptr || events[i]["tensors"][0]["name"] == name))
          remove_event(events, i);
    }
    std::string why;
    CHECK_FALSE(passes(changed, why));
    return why;
  };
  CHECK_THAT(without({"begin"}, nullptr, 1),
             Catch::Contains("adds its block to out where no sum of q0 begins: "));
  CHECK_THAT(without({"clear"}, nullptr, 1),
             Catch::Contains("adds its block to dq where no sum of q0 begins: "));
  CHECK_THAT(without({"begin", "clear"}, nullptr, 3), Catch::Contains("never begins its sum out"));
  CHECK_THAT(without({"holds"}, "dout", 3), Catch::Contains("never states where its dout is"));
}

TEST_CASE("rows of one sequence instead of another's, and tensors of another size, are no copies") {
  const json right = right_run(make_problem({2, 4, 2, 8, 2}, full_mask(), Layout::kContiguous, 2),
                               {&kHybrid, {.ulysses = 2}});
  const json& events = right["ranks"][0];
  for (std::size_t i = 0; i < events.size(); ++i) {
    if (events[i]["kind"] != "copy") continue;
    const Pointer at = Pointer("/ranks/0") / i;
    std::string why;
    json swapped = right;
    json& copied = swapped[at / "copied"];
    const std::size_t half = copied.size() / 6 * 3;  // the second sequence
    REQUIRE(half > 0);
    for (std::size_t run = 0; run < half; run += 3) std::swap(copied[run], copied[half + run]);
    CHECK_FALSE(passes(swapped, why));
    for (const std::size_t end : {0, 1}) {
      json longer = right;
      json& bytes = longer[at / "tensors" / end / "bytes"];
      bytes = bytes.get<Index>() + 8;
      CHECK_FALSE(passes(longer, why));
    }
  }
}

TEST_CASE("a file of the second format does not say where sums begin, one of the third must") {
  json run = right_run(make_problem({1, 2, 1, 12, 2}, full_mask(), Layout::kContiguous, 3), {&kRing, {}});
  remove_events(run, [](const json& e) { return e["kind"] == "begin" || e["kind"] == "clear"; });
  std::string why;
  CHECK_FALSE(passes(run, why));
  CHECK(why == "rank 0 never begins its sum out");
  run["format"] = 2;
  const bool good = passes(run, why);
  CAPTURE(why);
  CHECK(good);
}

TEST_CASE("the backward pass of a file of the first format reads the queries of its forward pass") {
  json run = right_run(make_problem({1, 2, 1, 12, 2}, full_mask(), Layout::kContiguous, 3), {&kRing, {}});
  run["format"] = 1;
  run.erase("method");
  run.erase("options");
  remove_events(run, [](const json& e) {
    const std::string kind = e["kind"];
    return kind == "gives" || kind == "begin" || kind == "clear" ||
           (kind == "holds" && std::set<std::string>{"q", "dout"}.contains(e["tensors"][0]["name"]));
  });
  std::string why;
  const bool good = passes(run, why);
  CAPTURE(why);
  REQUIRE(good);
  for (json& e : run["ranks"][1])
    if (e["kind"] == "backward") e["tensors"][0]["address"] = 64;
  CHECK_FALSE(passes(run, why));
  CHECK(why.find("reads q from other memory than the forward pass has left it in") != std::string::npos);
}

TEST_CASE("a rank states no more than it has, and keeps what it works with") {
  const json right =
      right_run(make_problem({1, 2, 1, 12, 2}, full_mask(), Layout::kContiguous, 3), {&kRing, {}});
  constexpr std::uint64_t kElsewhere = 64;  // where no memory is
  const auto wrong = [](const json& run, const char* sentence) {
    std::string why;
    CHECK_FALSE(passes(run, why));
    CHECK_THAT(why, Catch::Contains(sentence));
  };
  json gift = right;  // another rank's keys, from nobody
  json keys = right["ranks"][0][1];
  REQUIRE(keys["tensors"][0]["name"] == "k");
  keys["owner"] = 1;
  keys["tensors"][0]["address"] = kElsewhere;
  insert_event(gift["ranks"][0], 1, keys);
  wrong(gift, "begins with the block of rank 1, which nobody has sent");

  json moved = right;  // the queries of the backward pass, in memory of which nothing is known
  bool backward = false;
  for (json& e : moved["ranks"][1]) {
    backward = backward || e["kind"] == "gives";  // of the forward pass
    if (!backward || (e["kind"] != "holds" && e["kind"] != "backward")) continue;
    for (json& tensor : e["tensors"])
      if (tensor["name"] == "q") tensor["address"] = kElsewhere;
  }
  wrong(moved, "states that it holds q1 and holds memory that nothing was put into there");

  json shared = right;  // delta in the memory of dq
  for (json& e : shared["ranks"][1])
    if (e["kind"] == "backward") e["tensors"][4]["address"] = e["tensors"][7]["address"];
  wrong(shared, "has dq in the memory of delta");
}

TEST_CASE("a copy onto what a pass works with is wrong") {
  json run = right_run(make_problem({1, 4, 2, 16, 2}, full_mask(), Layout::kContiguous, 4),
                       {&kHybrid, {.ulysses = 2}});
  json& events = run["ranks"][0];
  std::size_t second = 0;
  for (std::size_t i = 0, blocks = 0; i < events.size() && second == 0; ++i)
    if (events[i]["kind"] == "backward" && ++blocks == 2) second = i;
  REQUIRE(second > 0);
  json copy = events[second];  // from lse to delta, which has its size
  for (const char* member : {"key_begin", "key_end", "pairs"}) copy.erase(member);
  const json lse = events[second]["tensors"][2], delta = events[second]["tensors"][4];
  copy["kind"] = "copy";
  copy["tensors"] = json::array({lse, delta});
  copy["tensors"][0]["name"] = "from";
  copy["tensors"][1]["name"] = "to";
  copy["tensors"][1]["access"] = "update";
  copy["copied"] = {0, 0, lse["bytes"]};
  insert_event(events, second, copy);
  std::string why;
  json apart = run;  // heads of one rank's rows, which nobody has by itself
  const auto dealt = std::ranges::find_if(events, [](const json& e) { return e.contains("part"); });
  REQUIRE(dealt != events.end());
  apart["ranks"][0][static_cast<std::size_t>(dealt - events.begin())]["part"]["joined"] = 1;
  CHECK_FALSE(passes(apart, why));
  CHECK_THAT(why, Catch::Contains("joined: expected an integer from 2 to 2, got 1"));

  CHECK_FALSE(passes(run, why));
  CHECK_THAT(why, Catch::Contains("finds delta overwritten since the block before"));
}

}  // namespace ringcraft::verify
