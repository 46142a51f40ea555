// lessons, start, check: the course from the command line. The student's workspace is exercises/ in the
// project's folder.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "judge/judge.hpp"
#include "ringcraft/core/error.hpp"
#include "tool/commands.hpp"
#include "tool/course.hpp"
#include "tool/output.hpp"
#include "verify/report.hpp"

namespace ringcraft::tool {
namespace {

const std::filesystem::path kRoot = source_root();

int show_lessons() {
  std::fputs(road_text(Course(), colour()).c_str(), stdout);
  return 0;
}

int start(int lesson) {
  const auto file = judge::start(lesson, workspace());
  const auto here = judge::lessons();
  const auto info = std::ranges::find(here, lesson, &judge::LessonInfo::number);
  std::printf(
      "%s is yours: write the body of %s.\nReading: lessons/%s/README.md\nThen: ./ringcraft check %d\n",
      std::filesystem::relative(file, kRoot).c_str(), info->function.c_str(), info->name.c_str(), lesson);
  return 0;
}

// The lesson to check when none is named: the one whose file was changed last.
int latest_started() {
  const auto latest = Course().latest();
  if (!latest) throw Error("check: no exercise is started; begin with ./ringcraft start 101");
  return *latest;
}

struct CheckFlags {
  int lesson = 0;
  bool debug = false;
  std::uint64_t seed = 1;
  std::string json;
};

int check(const CheckFlags& flags) {
  if (flags.debug) throw Error("--debug is not part of this version");
  const int lesson = flags.lesson == 0 ? latest_started() : flags.lesson;
  require_writable("--json", flags.json);
  judge::CheckOptions options;
  options.seed = flags.seed;
  Progress progress(1);
  options.progress = [&](const std::string& claim, int done, int total) {
    progress.at(static_cast<double>(done) / std::max(1, total), claim);
  };
  const Attempt attempt(std::to_string(lesson), judge::exercise_file(lesson, workspace()));
  const verify::Report report = judge::check(lesson, workspace(), options);
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

  CLI::App* begin = app.add_subcommand("start", "Write a lesson's exercise file into exercises/");
  auto number = std::make_shared<int>(0);
  begin->add_option("lesson", *number, "Its number: 104")->required()->type_name("N");
  begin->footer("Example: ./ringcraft start 104");
  begin->callback([&action, number] { action = [number] { return start(*number); }; });

  CLI::App* judge = app.add_subcommand("check", "Judge your file of a lesson: what is wrong, and why");
  auto flags = std::make_shared<CheckFlags>();
  judge->add_option("lesson", flags->lesson, "Its number; default: the one you changed last")->type_name("N");
  judge->add_option("--seed", flags->seed, "Of all inputs")->capture_default_str()->type_name("X");
  judge->add_option("--json", flags->json, "Also write the verdict for programs")->type_name("F");
  judge->add_flag("--debug", flags->debug, "Not in this version");
  judge->footer("Example: ./ringcraft check 104");
  judge->callback([&action, flags] { action = [flags] { return check(*flags); }; });
}

}  // namespace ringcraft::tool
