#pragma once
// What the tests of the harness share: which part of the table runs, and short ways to problems and inputs.

#include <cstdlib>
#include <string>

#include "ringcraft/core/matrix.hpp"
#include "verify/cases.hpp"

namespace ringcraft::verify {

// The full table if RINGCRAFT_LONG is set to 1, else the brief one.
inline CaseSet chosen_set() {
  const char* wish = std::getenv("RINGCRAFT_LONG");
  return wish != nullptr && std::string(wish) == "1" ? CaseSet::kFull : CaseSet::kBrief;
}

inline std::string name_of(CaseSet set) { return set == CaseSet::kFull ? "full" : "brief"; }

// A case of ordinary numbers.
inline Case small_case(Shape shape, Mask mask, Layout layout = Layout::kContiguous, int world_size = 1) {
  return make_case(make_problem(shape, std::move(mask), layout, world_size), Data::kNormal, 7);
}

}  // namespace ringcraft::verify
