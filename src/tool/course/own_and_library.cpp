// Runs the system's diff and colours its output.
#include "tool/course/own_and_library.hpp"

#include <fmt/format.h>

#include <fstream>
#include <sstream>

#include "judge/build/toolchain.hpp"
#include "judge/tree/marks.hpp"
#include "process/child.hpp"
#include "ringcraft/core/error.hpp"
#include "ringcraft/core/shown.hpp"
#include "ringcraft/io/text_file.hpp"
#include "tool/terminal/output.hpp"

namespace ringcraft::tool {
namespace {

constexpr std::uintmax_t kLargestFile = 1 << 20;

std::string coloured(const std::string& text) {
  std::istringstream lines(text);
  std::string result;
  for (std::string line; std::getline(lines, line);) {
    const char first = line.empty() ? ' ' : line[0];
    const int code = first == '+' ? 32 : first == '-' ? 31 : first == '@' ? 36 : 0;
    result += code == 0 ? line + "\n" : fmt::format("\x1b[{}m{}\x1b[0m\n", code, line);
  }
  return result;
}

void require_passed(const Course& course, int lesson, const std::filesystem::path& own) {
  const std::string id = std::to_string(lesson);
  if (course.state(lesson) == State::kHere)
    throw Error("diff", "your file " + shown_path(own), "none", "type ./ringcraft start " + id);
  if (course.progress().passed_with(id, fingerprint_of(own))) return;
  const bool before = course.progress().passed(id);
  throw Error("diff", "a file that has passed with full points",
              before ? shown_path(own) + ", which has changed since" : "none of lesson " + id + " so far",
              "the library's file is the solution; type ./ringcraft check " + id +
                  (before ? " again" : ", and ./ringcraft hint " + id + " for help"));
}

}  // namespace

std::string diff_text(const Course& course, int lesson, verify::Colour colour) {
  const std::filesystem::path own = course.exercise(lesson);
  const std::filesystem::path library = judge::original_file(lesson);
  require_passed(course, lesson, own);
  const judge::WorkFolder folder;
  const std::filesystem::path reference = folder.path() / "library";
  write_text("diff", reference.string(), judge::without_marks(read_text_file("diff", library, kLargestFile)));
  const process::Finished ran =
      process::run_command({.arguments = {"/usr/bin/env", "diff", "-U", "3", "--label", shown_path(own),
                                          "--label", shown_path(library), own.string(), reference.string()},
                            .environment = whole_environment(),
                            .output_limit = 4 * kLargestFile},
                           std::chrono::seconds(20));
  if (ran.good()) return "Your file is the library's, to the letter.\n";
  if (ran.timed_out || ran.ending.signalled || ran.ending.number != 1)
    throw Error("diff", "the program diff", "none that works", "install diffutils", Code::kMissing);
  const std::string text = shown_lines(ran.printed);
  return colour == verify::Colour::kPlain ? text : coloured(text);
}

}  // namespace ringcraft::tool
