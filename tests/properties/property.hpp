#pragma once
/// @file
/// RapidCheck inside of a Catch2 test case: a property is checked for a number of random examples, ten times
/// as many with RINGCRAFT_LONG=1 in the environment. RapidCheck shrinks a failing example and prints it with
/// the RC_PARAMS that repeat it; RC_PARAMS="seed=..." also sets the seed of a whole run.

#include <rapidcheck.h>

#include <sstream>
#include <string>

#include "support/catch.hpp"
#include "support/effort.hpp"
#include "support/recipe.hpp"

namespace rc {

/// Recipes of any mask, shrunk by their own steps.
template <>
struct Arbitrary<ringcraft::testing::Recipe> {
  static Gen<ringcraft::testing::Recipe> arbitrary() {
    using ringcraft::testing::Recipe;
    return [](const Random& random, int) {
      Random stream(random);
      ringcraft::Random ours(stream.next());
      return shrinkable::shrinkRecur(
          ringcraft::testing::random_recipe(ours, ringcraft::testing::Masks::kAny),
          [](const Recipe& recipe) { return seq::fromContainer(ringcraft::testing::simpler(recipe)); });
    };
  }
};

}  // namespace rc

namespace ringcraft::testing {

/// Checks a property for `examples` random examples (a tenth of them under a sanitizer).
template <class Testable>
void check_property(int examples, Testable&& testable) {
  if (kUnderSanitizer) examples = (examples + 9) / 10;
  rc::detail::TestParams parameters = rc::detail::configuration().testParams;
  parameters.maxSuccess = examples * (long_run() ? 10 : 1);
  const auto result =
      rc::detail::checkTestable(std::forward<Testable>(testable), rc::detail::TestMetadata(), parameters);
  std::ostringstream text;
  rc::detail::printResultMessage(result, text);
  INFO(text.str());
  CHECK(result.template is<rc::detail::SuccessResult>());
}

}  // namespace ringcraft::testing
