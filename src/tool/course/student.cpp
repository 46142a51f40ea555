// next, hint, diff: the student's tools from the command line.
#include <cstdio>

#include "ringcraft/core/error.hpp"
#include "tool/commands/course_commands.hpp"
#include "tool/course/course.hpp"
#include "tool/course/hints.hpp"
#include "tool/course/own_and_library.hpp"
#include "tool/terminal/output.hpp"
#include "tool/terminal/terminal.hpp"

namespace ringcraft::tool {

int next() {
  const Course course;
  const auto lesson = course.next();
  if (!lesson) {
    std::fputs(what_next(course, 0).c_str(), stdout);
    return 0;
  }
  if (!std::filesystem::exists(course.exercise(*lesson))) judge::start(*lesson, course.folder());
  std::fputs(lesson_text(course, *lesson, "./ringcraft check " + std::to_string(*lesson)).c_str(), stdout);
  return 0;
}

int hint(const std::string& id) {
  Course course;
  const auto latest = course.latest();
  if (id.empty() && !latest)
    throw Error("hint: no exercise is started; name a lesson, as in ./ringcraft hint 104");
  const std::string whose = id.empty() ? std::to_string(*latest) : id;
  const std::size_t width = std::min<std::size_t>(window_size().columns, 100);
  std::fputs(next_hint(course, whose, width).c_str(), stdout);
  return 0;
}

int diff(int lesson) {
  std::fputs(diff_text(Course(), lesson, colour()).c_str(), stdout);
  return 0;
}

}  // namespace ringcraft::tool
