// lessons, start, check: the course from the command line. The student's workspace is exercises/ in the
// project's folder.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <optional>

#include "judge/judge.hpp"
#include "judge/puzzle.hpp"
#include "ringcraft/core/error.hpp"
#include "tool/commands.hpp"
#include "tool/course.hpp"
#include "tool/output.hpp"
#include "tool/puzzles.hpp"
#include "verify/report.hpp"

namespace ringcraft::tool {
namespace {

const std::filesystem::path kRoot = source_root();

int show_lessons() {
  std::fputs(road_text(Course(), colour()).c_str(), stdout);
  return 0;
}

int start(const std::string& id, std::optional<std::uint64_t> seed) {
  if (is_puzzle(id)) {
    start_puzzle(id, seed, workspace());
    return 0;
  }
  if (seed) throw Error("start", "--seed with a side exercise", id, "leave it out");
  const int lesson = lesson_of(id);
  const auto file = judge::start(lesson, workspace());
  const auto here = judge::lessons();
  const auto info = std::ranges::find(here, lesson, &judge::LessonInfo::number);
  std::printf(
      "%s is yours: write the body of %s.\nReading: lessons/%s/README.md\nThen: ./ringcraft check %d\n",
      shown_path(file).c_str(), info->function.c_str(), info->name.c_str(), lesson);
  return 0;
}

// What to check when nothing is named: the exercise whose file was changed last.
std::string latest_started() {
  const Course course;
  const auto lesson = course.latest();
  std::optional<std::filesystem::file_time_type> newest;
  if (lesson) newest = std::filesystem::last_write_time(course.exercise(*lesson));
  if (const auto puzzle = puzzle_newer(newest, workspace())) return *puzzle;
  if (!lesson) throw Error("check: no exercise is started; begin with ./ringcraft start 101");
  return std::to_string(*lesson);
}

struct CheckFlags {
  std::string id;
  bool debug = false;
  std::uint64_t seed = 1;
  std::string json;
};

// The same checks in one process, which becomes that of this program: whatever happens is simply seen.
int debug(const std::string& id, const CheckFlags& flags) {
  if (is_puzzle(id))
    throw Error("check --debug", "a lesson's number", id, "a side exercise is checked without --debug");
  const int lesson = lesson_of(id);
  if (!flags.json.empty())
    throw Error("check", "--debug alone", "--json, too",
                "leave out one: a debugged program gives no verdict");
  const auto built = judge::build_for_debugging(lesson, judge::started_file(lesson, workspace()));
  if (built.program.empty()) {
    std::fputs(verify::text_of(built.report, colour()).c_str(), stdout);
    return static_cast<int>(Code::kWrongAnswer);
  }
  const std::string number = std::to_string(lesson), seed = std::to_string(flags.seed);
  const std::string program = std::filesystem::relative(built.program, kRoot).string();
  std::printf(
      "One process, for a debugger or a sanitizer; a verdict is given by ./ringcraft check %s.\n"
      "To look into it: gdb --args %s %s %s\n\n",
      number.c_str(), program.c_str(), number.c_str(), seed.c_str());
  std::fflush(stdout);
  ::execl(built.program.c_str(), built.program.c_str(), number.c_str(), seed.c_str(), nullptr);
  throw Error("check", "a program that starts", built.program.string(), "build the tree again",
              Code::kMissing);
}

int check(const CheckFlags& flags) {
  const std::string id = flags.id.empty() ? latest_started() : flags.id;
  if (flags.debug) return debug(id, flags);
  require_writable("--json", flags.json);
  judge::CheckOptions options;
  options.seed = flags.seed;
  Progress progress(1);
  options.progress = [&](const std::string& claim, int done, int total) {
    progress.at(static_cast<double>(done) / std::max(1, total), claim);
  };
  const bool puzzle = is_puzzle(id);
  const Attempt attempt(id, puzzle ? judge::puzzle_file(judge::puzzle_named(id), workspace())
                                   : judge::exercise_file(lesson_of(id), workspace()));
  const verify::Report report = puzzle ? judge::check_puzzle(id, workspace(), options)
                                       : judge::check(lesson_of(id), workspace(), options);
  std::fputs(verify::text_of(report, colour()).c_str(), stdout);
  attempt.finished(report);
  if (!flags.json.empty()) write_json(flags.json, report);
  return report.good() ? 0 : static_cast<int>(Code::kWrongAnswer);
}

}  // namespace

void add_lessons(CLI::App& app, Action& action) {
  app.add_subcommand("lessons", "The road: all lessons, and what you have started")->callback([&action] {
    action = show_lessons;
  });

  CLI::App* begin =
      app.add_subcommand("start", "Write the file of a lesson or a side exercise into exercises/");
  auto id = std::make_shared<std::string>();
  auto seed = std::make_shared<std::optional<std::uint64_t>>();
  begin->add_option("id", *id, "A lesson's number, or a side exercise: 104, 301.deadlock")
      ->required()
      ->type_name("ID");
  begin->add_option("--seed", *seed, "Of a side exercise whose numbers are chosen; default: your own")
      ->type_name("X");
  begin->footer("Example: ./ringcraft start 104");
  begin->callback([&action, id, seed] { action = [id, seed] { return start(*id, *seed); }; });

  CLI::App* judge = app.add_subcommand("check", "Judge your file: what is wrong, and why");
  auto flags = std::make_shared<CheckFlags>();
  judge
      ->add_option("id", flags->id,
                   "A lesson or a side exercise: 104, 301.deadlock; default: what you changed last")
      ->type_name("ID");
  judge->add_option("--seed", flags->seed, "Of all inputs")->capture_default_str()->type_name("X");
  judge->add_option("--json", flags->json, "Also write the verdict for programs")->type_name("F");
  judge->add_flag("--debug", flags->debug, "Run the checks in one process that a debugger can look into");
  judge->footer("Example: ./ringcraft check 104");
  judge->callback([&action, flags] { action = [flags] { return check(*flags); }; });
}

}  // namespace ringcraft::tool
