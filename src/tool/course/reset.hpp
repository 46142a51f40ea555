#pragma once
// A fresh start for one exercise, and the way back. No text of the student is ever deleted.

#include <string>

#include "tool/course/course.hpp"

namespace ringcraft::tool {

// Replaces the student's file by the exercise as `start` gives it; the old file is kept beside it as
// merge.cpp.before-reset (and .before-reset.2 ... if that is there). Returns a sentence for the student.
// Throws Error if there is no file.
std::string reset(const Course& course, int lesson);

// Puts the file that was kept last back. If the student has written something since, the two are exchanged.
// Throws Error if none is kept.
std::string undo_reset(const Course& course, int lesson);

}  // namespace ringcraft::tool
