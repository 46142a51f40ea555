// Tests the laws of an all-gather's schedule: each part that is wrong is told, two at once as well; parts
// that keep the promises in another order have no cause, nor has a schedule that no word gives.
#include "support/catch.hpp"
#include "verify/diagnose/diagnose.hpp"

namespace ringcraft::verify {
namespace {

using Schedule = std::vector<GatherStep> (*)(int n, int slices);

// The right schedule, with `comes` under the block (s, d).
template <class Comes>
std::vector<GatherStep> with(int n, int slices, int first, Comes comes) {
  std::vector<GatherStep> steps;
  for (int d = first; d < n; ++d) steps.push_back({{0, d}, {}});
  for (int s = 0; s < slices; ++s)
    for (int d = 0; d < n; ++d) steps.push_back({comes(s, d), {s, d}});
  return steps;
}

std::vector<std::string> causes_of_schedule(Schedule schedule) {
  GatherExhibit x;
  for (const auto& [n, slices] : {std::pair{1, 1}, {1, 3}, {2, 2}, {3, 1}, {3, 4}, {5, 2}, {4, 3}})
    x.asked.push_back({n, slices, schedule(n, slices)});
  std::vector<std::string> ids;
  for (const Cause& cause : causes_of(x)) ids.push_back(cause.id);
  return ids;
}

using Ids = std::vector<std::string>;

}  // namespace

TEST_CASE("right schedules of an all-gather have no cause, in whatever order a slice comes") {
  CHECK(causes_of(GatherExhibit{}).empty());
  CHECK(causes_of_schedule([](int n, int slices) { return gather_steps(n, slices); }).empty());
  CHECK(causes_of_schedule([](int n, int slices) {
          return with(n, slices, 1, [=](int s, int d) {
            return s + 1 < slices && d > 0 ? GatheredBlock{s + 1, n - d} : GatheredBlock{};
          });
        }).empty());
}

TEST_CASE("each wrong part of an all-gather's schedule is told") {
  CHECK(causes_of_schedule([](int n, int slices) {
          return with(n, slices, 1, [=](int s, int d) {
            return s + 1 < slices && d + 1 < n ? GatheredBlock{s + 1, d + 1} : GatheredBlock{};
          });
        }) == Ids{"solved-gather-hidden"});
  CHECK(causes_of_schedule([](int n, int slices) {
          return with(n, slices, 0, [](int, int) { return GatheredBlock{}; });
        }) == Ids{"solved-gather-alone", "solved-gather-hidden"});
  CHECK(causes_of_schedule([](int, int) { return std::vector<GatherStep>(2); }) ==
        Ids{"solved-gather-computed", "solved-gather-alone", "solved-gather-hidden", "solved-gather-idle"});
}

TEST_CASE("which block comes under which is solved for where it has no word of its own") {
  GatherExhibit x;
  for (const auto& [n, slices] : {std::pair{1, 2}, {2, 3}, {3, 4}, {4, 2}})
    x.asked.push_back({n, slices, with(n, slices, 1, [n = n, all = slices](int s, int d) {
                         return s + 1 < all && d + 1 < n ? GatheredBlock{s + 1, n - 1 - d} : GatheredBlock{};
                       })});
  const std::vector<Cause> causes = causes_of(x);
  REQUIRE(causes.size() == 1);
  CHECK(
      causes[0].sentence ==
      "while the block at distance d of slice s is computed, the one at N - 1 - d of slice s + 1 comes, for "
      "d from 0 to N - 2 and every s but the last, instead of the one at d of slice s + 1, for d from 1 to "
      "N - 1 and every s but the last");
}

TEST_CASE("a mistake with one slice alone is told as one") {
  GatherExhibit x;
  for (const auto& [n, slices] : {std::pair{1, 1}, {2, 1}, {3, 1}, {4, 1}, {2, 3}, {3, 4}, {4, 2}}) {
    std::vector<GatherStep> steps = gather_steps(n, slices);
    if (slices == 1) {
      steps.clear();
      for (int d = 0; d < n; ++d)
        steps.push_back({d + 1 < n ? GatheredBlock{0, d + 1} : GatheredBlock{}, {0, d}});
    }
    x.asked.push_back({n, slices, steps});
  }
  const std::vector<Cause> causes = causes_of(x);
  REQUIRE(causes.size() == 2);
  CHECK(causes[0].sentence == "with one slice nothing comes before the computing begins");
}

TEST_CASE("a list with too little room is told by its length, if two worlds have it") {
  const auto asked = [](int n, int slices) {
    std::vector<GatherStep> steps = gather_steps(n, slices);
    if (steps.size() > 40) steps.resize(40);
    return GatherExhibit::Asked{n, slices, steps};
  };
  GatherExhibit x{{asked(2, 3), asked(3, 4), asked(3, 30)}};
  CHECK(causes_of(x).empty());
  x.asked.push_back(asked(5, 20));
  const std::vector<Cause> causes = causes_of(x);
  REQUIRE(causes.size() == 1);
  CHECK(causes[0].sentence == "a list ends after 40 steps, however many it needs");
}

TEST_CASE("a schedule that no word gives has no cause") {
  CHECK(causes_of_schedule([](int n, int slices) {
          return with(n, slices, 1, [=](int s, int d) {
            return s + 1 < slices && d > 0 ? GatheredBlock{s + 1, 7 + d * d} : GatheredBlock{};
          });
        }).empty());
}

TEST_CASE("worlds without an answer are told") {
  GatherExhibit x;
  x.asked = {{1, 1, std::nullopt}, {1, 2, std::nullopt}, {3, 2, gather_steps(3, 2)}};
  CHECK(causes_of(x).at(0).sentence == "gather_steps does not return for one rank");
}

}  // namespace ringcraft::verify
