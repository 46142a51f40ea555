#pragma once
/// @file
/// Wrong values of whole tensors, as a check throws them.

#include <string>
#include <utility>
#include <vector>

#include "judge/outcome/wrong.hpp"
#include "verify/oracle/compare.hpp"

namespace ringcraft::judge {

/// What programs compare of a wrong element, of numbers that are wrong together, and of a comparison that is
/// not good: its first wrong element, or how many there are, or what is wrong together.
std::vector<Fact> facts_of(const verify::Difference& difference);
std::vector<Fact> facts_of(const verify::GroupFault& fault);       ///< see above
std::vector<Fact> facts_of(const verify::Comparison& comparison);  ///< see above

/// Wrong values with pictures of where they are; their facts come with facts_of().
template <class... Words>
Wrong wrong_values(std::vector<verify::ErrorMap> maps, std::string words, Words&&... in_them) {
  const char how = sign_of(maps);
  return Wrong(how, "values", std::move(words), std::forward<Words>(in_them)...).showing(std::move(maps));
}

}  // namespace ringcraft::judge
