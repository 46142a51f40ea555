// Tests finite numbers that stand for minus infinity: each is solved for where a row gives it, and kept
// within the limits that the rows set elsewhere.
#include <cmath>
#include <regex>
#include <string>

#include "support/catch.hpp"
#include "verify/diagnose/first_cause.hpp"
#include "verify/suspects_support.hpp"

namespace ringcraft::verify {
namespace {

// Scores near -20000 and 20000: rows see only the former, where other rows see the latter, too.
Scene huge_scene(Mask mask = causal_mask(), Layout layout = Layout::kZigzag) {
  return Scene(make_case(make_problem({1, 2, 1, 24, 4}, std::move(mask), layout, 4), Data::kHuge, 11));
}

Twist low_mask(MaskedTwist masked, double number) { return {.masked = masked, .low = number}; }

// The two limits that a sentence names.
std::pair<double, double> limits_in(const std::string& sentence) {
  std::smatch found;
  if (!std::regex_search(sentence, found, std::regex("between (\\S+) and (\\S+)"))) return {NAN, NAN};
  return {std::stod(found[1]), std::stod(found[2])};
}

bool has(const std::string& sentence, std::string_view words) {
  return sentence.find(words) != std::string::npos;
}

constexpr double kNumbers[] = {-500, -3000, -1e4, -17000};

}  // namespace

TEST_CASE("a finite number for minus infinity is solved for where lse tells it") {
  for (const Scene& scene : {huge_scene(), huge_scene(window_mask(7), Layout::kStriped)})
    for (const MaskedTwist masked : {MaskedTwist::kSetLow, MaskedTwist::kLowered})
      for (const double number : kNumbers) {
        const Answer claim =
            twisted_forward(scene.c.problem, scene.inputs, scene.right.value, low_mask(masked, number));
        const std::vector<Cause> causes = scene.of(claim).forward;
        INFO(number << " in " << scene.c.name);
        REQUIRE(first_of(causes) == "CM6-finite");
        INFO(causes[0].sentence);
        CHECK(has(causes[0].sentence, masked == MaskedTwist::kSetLow ? "masked scores are" : "is added to"));
        const std::size_t at = causes[0].sentence.find("about ");
        REQUIRE(at != std::string::npos);
        CHECK(std::fabs(std::stod(causes[0].sentence.substr(at + 6)) / number - 1) < 0.01);
      }
}

TEST_CASE("without lse the limits of a finite number for minus infinity are told, and it lies within them") {
  const Scene scene = huge_scene();
  for (const MaskedTwist masked : {MaskedTwist::kSetLow, MaskedTwist::kLowered})
    for (const double number : kNumbers) {
      Answer claim =
          twisted_forward(scene.c.problem, scene.inputs, scene.right.value, low_mask(masked, number));
      claim.lse = {};
      const std::vector<Cause> causes = scene.of(claim, Ranks::kKnown, Expect::kPresent).forward;
      INFO(number);
      REQUIRE(first_of(causes) == "CM6-finite");
      INFO(causes[0].sentence);
      const auto [low, high] = limits_in(causes[0].sentence);
      CHECK(low <= number);
      CHECK(number <= high);
      CHECK(high - low < 1e5);
      CHECK_FALSE(has(causes[0].sentence, "about"));
    }
}

TEST_CASE("a finite mask is told of one column of float32, and comes before masked scores of 0") {
  const Scene scene(
      make_case(make_problem({2, 4, 1, 64, 1}, causal_mask(), Layout::kContiguous, 1), Data::kHuge, 11));
  Answer claim =
      twisted_forward(scene.c.problem, scene.inputs, scene.right.value, low_mask(MaskedTwist::kSetLow, -1e4));
  claim.lse = {};
  const Comparison comparison = compare_exact(claim, scene.right, Expect::kPresent);
  const std::vector<Cause> causes =
      diagnose(scene.c.problem, scene.inputs, converted(claim, DType::kFloat32), scene.right, comparison)
          .forward;
  CHECK(first_of(causes) == "CM6-finite");
}

TEST_CASE("gradients that follow a finite mask have no cause of their own") {
  const Scene scene = huge_scene();
  const auto through = [](Twist twist) {
    twist.through = Done::kYes;
    return twist;
  };
  for (const MaskedTwist masked : {MaskedTwist::kSetLow, MaskedTwist::kLowered, MaskedTwist::kScoreZero}) {
    const Twist twist = low_mask(masked, -3000);
    // By autograd; by code that masks P; and by code that masks no dS.
    for (const Twist& backward : {twist, Twist{}, through(twist)}) {
      Answer claim = twisted_forward(scene.c.problem, scene.inputs, scene.right.value, twist);
      const Answer gradients = twisted_backward(scene.c.problem, scene.inputs, claim, backward);
      for (const auto& [to, from] :
           {std::pair{&claim.dq, &gradients.dq}, {&claim.dk, &gradients.dk}, {&claim.dv, &gradients.dv}})
        *to = from->clone();
      const Diagnosis diagnosis = scene.of(claim, Ranks::kKnown, Expect::kAll);
      CHECK(first_of(diagnosis.forward).starts_with("CM6"));
      INFO((diagnosis.backward.empty() ? "" : diagnosis.backward[0].sentence));
      CHECK(diagnosis.backward.empty());
    }
  }
}

TEST_CASE("gradients of scores that are replaced reach values alone, those of lowered ones all tensors") {
  const Scene scene = huge_scene();
  const auto gradients = [&](MaskedTwist masked) {
    const Twist twist = low_mask(masked, -3000);
    const Answer claim = twisted_forward(scene.c.problem, scene.inputs, scene.right.value, twist);
    return std::pair{twisted_backward(scene.c.problem, scene.inputs, claim, {}),
                     twisted_backward(scene.c.problem, scene.inputs, claim, twist)};
  };
  const auto same = [](const Buffer& a, const Buffer& b) {
    return std::ranges::equal(a.values<double>(), b.values<double>());
  };
  const auto [seen, replaced] = gradients(MaskedTwist::kSetLow);
  CHECK(same(seen.dq, replaced.dq));
  CHECK(same(seen.dk, replaced.dk));
  CHECK_FALSE(same(seen.dv, replaced.dv));
  const auto [alone, lowered] = gradients(MaskedTwist::kLowered);
  CHECK_FALSE(same(alone.dq, lowered.dq));
  CHECK_FALSE(same(alone.dk, lowered.dk));
  CHECK_FALSE(same(alone.dv, lowered.dv));
}

TEST_CASE("rows that see no key tell a finite mask, and its number by lse alone") {
  BlockProblem problem{1, 1, 1, 4, causal_mask(), {0, 1, 2, 3, 4, 5, 6, 7}, {4, 5, 6, 7, 8, 9}, 0.5};
  const Inputs inputs = make_inputs(BlockCase{"", problem, {}, Data::kNormal, 5}, DType::kFloat64);
  const Oracle right = oracle(problem, inputs);
  const Arrangement place = tiled_arrangement(8, 6, 6);
  const TwistedRing ring(problem, inputs, right.value, place);
  for (const bool with_lse : {true, false}) {
    Answer claim = clone(right.value);
    for_each_row(claim.out.extents(), [&](const RowPlace& row) {
      const Merged value = ring.forward(low_mask(MaskedTwist::kSetLow, -1e9), row);
      put(claim.out, row, value.out);
      put(claim.lse, row, {value.lse});
    });
    if (!with_lse) claim.lse = {};
    const Comparison comparison = compare_exact(claim, right, Expect::kPresent);
    REQUIRE_FALSE(comparison.good);
    const auto causes =
        causes_of(AttentionExhibit{problem, place, {}, clone(inputs), std::move(claim), comparison});
    REQUIRE(first_of(causes) == "blind-mean");
    INFO(causes[0].sentence);
    CHECK(has(causes[0].sentence, "(by lse, about -1e+09 after the softmax scale)") == with_lse);
  }
}

TEST_CASE("a right case refutes no finite mask: its number may be another one") {
  const Scene scene = huge_scene();
  CHECK(refuted_mistakes(scene.c.problem, scene.inputs, {}, {"CM6-finite", "CM6"}, DType::kFloat64) ==
        std::vector<std::string>{"CM6"});
}

}  // namespace ringcraft::verify
