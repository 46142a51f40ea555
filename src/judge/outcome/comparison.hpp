#pragma once
/// @file
/// Wrong values of whole tensors, as a check throws them.

#include <string>
#include <utility>
#include <vector>

#include "judge/outcome/wrong.hpp"
#include "verify/oracle/compare.hpp"

namespace ringcraft::judge {

/// The facts of a wrong element, of numbers that are wrong together, and of a comparison that failed: its
/// first wrong element, or the count of them, or the group that is wrong together.
std::vector<Fact> facts_of(const verify::Difference& difference);
std::vector<Fact> facts_of(const verify::GroupFault& fault);       ///< see above
std::vector<Fact> facts_of(const verify::Comparison& comparison);  ///< see above

/// Wrong values with pictures of their places; facts_of() gives their facts.
template <class... Words>
Wrong wrong_values(std::vector<verify::ErrorMap> maps, std::string words, Words&&... in_them) {
  const char how = sign_of(maps);
  return Wrong(how, "values", std::move(words), std::forward<Words>(in_them)...).showing(std::move(maps));
}

}  // namespace ringcraft::judge
