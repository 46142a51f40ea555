#pragma once
// A student's file beside the library's own: the differences, once it has passed.

#include <string>

#include "tool/course/course.hpp"
#include "verify/report/report.hpp"

namespace ringcraft::tool {

// A unified diff from the student's file to the library's, without the marks of the exercise. Throws Error
// (kWrongCall) if the file in its present form has not passed, and (kMissing) where the program diff is not
// installed.
std::string diff_text(const Course& course, int lesson, verify::Colour colour);

}  // namespace ringcraft::tool
