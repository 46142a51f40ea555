#pragma once
/// @file
/// The two halves of a GridExhibit.

#include <vector>

#include "verify/diagnose/diagnose.hpp"

namespace ringcraft::verify {

/// Why the groups are wrong: their first member, the distance of the others, and how many there are.
std::vector<Cause> causes_of_groups(const GridExhibit& exhibit);
/// Why the walks are wrong: node and place of each member as sums, and the steps in which it is set.
std::vector<Cause> causes_of_walks(const GridExhibit& exhibit);

}  // namespace ringcraft::verify
