#pragma once
// Shared by the tests of the harness: the part of the table that runs, and short ways to problems and inputs.

#include <string>

#include "ringcraft/core/matrix.hpp"
#include "support/effort.hpp"
#include "verify/oracle/cases.hpp"

namespace ringcraft::verify {

// The full table in a long run, else the brief one.
inline CaseSet chosen_set() { return testing::long_run() ? CaseSet::kFull : CaseSet::kBrief; }

// The cases of the chosen table that this run tries.
inline std::vector<Case> chosen_cases() {
  return testing::fewer_under_sanitizer(case_table(chosen_set()), 6);
}

inline std::string name_of(CaseSet set) { return set == CaseSet::kFull ? "full" : "brief"; }

// A case of ordinary numbers.
inline Case small_case(Shape shape, Mask mask, Layout layout = Layout::kContiguous, int world_size = 1) {
  return make_case(make_problem(shape, std::move(mask), layout, world_size), Data::kNormal, 7);
}

}  // namespace ringcraft::verify
