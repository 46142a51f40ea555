#pragma once
// Hints: three for each lesson, each of which helps more than the one before; every call shows one more.

#include <cstddef>
#include <string>

#include "tool/course/course.hpp"

namespace ringcraft::tool {

// The next hint of a lesson ("104") or side exercise below those that were shown before, for a terminal of
// this width. Records in the progress that it has been shown. Throws Error for an unknown exercise.
std::string next_hint(Course& course, const std::string& id, std::size_t width);

}  // namespace ringcraft::tool
