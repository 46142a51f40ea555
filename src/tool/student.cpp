// next, hint, diff, watch: the student's tools from the command line.
#include <CLI/CLI.hpp>
#include <cstdio>

#include "ringcraft/core/error.hpp"
#include "tool/commands.hpp"
#include "tool/course.hpp"
#include "tool/hints.hpp"
#include "tool/output.hpp"
#include "tool/own_and_library.hpp"
#include "tool/terminal.hpp"
#include "tool/watch.hpp"

namespace ringcraft::tool {
namespace {

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

}  // namespace

void add_student(CLI::App& app, Action& action) {
  app.add_subcommand("watch", "Check at every save, with single keys for the rest; ./ringcraft alone")
      ->footer("Example: ./ringcraft watch")
      ->callback([&action] { action = watch; });

  app.add_subcommand("next", "Start the first lesson of the road that is not done")
      ->footer("Example: ./ringcraft next")
      ->callback([&action] { action = next; });

  CLI::App* help = app.add_subcommand("hint", "One more hint for a lesson, below those before");
  auto id = std::make_shared<std::string>();
  help->add_option("lesson", *id, "Its number; default: the one you changed last")->type_name("N");
  help->footer("Example: ./ringcraft hint 104");
  help->callback([&action, id] { action = [id] { return hint(*id); }; });

  CLI::App* compare = app.add_subcommand("diff", "Your file beside the library's, once it has passed");
  auto number = std::make_shared<int>(0);
  compare->add_option("lesson", *number, "Its number: 104")->required()->type_name("N");
  compare->footer("Example: ./ringcraft diff 104");
  compare->callback([&action, number] { action = [number] { return diff(*number); }; });
}

}  // namespace ringcraft::tool
