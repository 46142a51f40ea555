// lessons, start, check: the course from the command line. The student's workspace is exercises/ in the
// project's folder.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "judge/judge.hpp"
#include "ringcraft/core/error.hpp"
#include "tool/commands.hpp"
#include "tool/output.hpp"
#include "verify/report.hpp"

namespace ringcraft::tool {
namespace {

const std::filesystem::path kRoot = RINGCRAFT_SOURCE_DIR;

std::filesystem::path workspace() { return kRoot / "exercises"; }

// A lesson of the road: a line of lessons/road.csv.
struct RoadLine {
  int number;
  std::string title, chapter, line;
};

std::vector<RoadLine> road() {
  const auto path = kRoot / "lessons" / "road.csv";
  std::ifstream file(path);
  std::vector<RoadLine> lines;
  std::string text;
  std::getline(file, text);  // the names of the columns
  while (std::getline(file, text)) {
    const auto a = text.find(','), b = text.find(',', a + 1), c = text.find(',', b + 1);
    lines.push_back({std::stoi(text.substr(0, a)), text.substr(a + 1, b - a - 1),
                     text.substr(b + 1, c - b - 1), text.substr(c + 1)});
  }
  if (lines.empty())
    throw Error("lessons", "the road in " + path.string(), "nothing", "check the checkout", Code::kMissing);
  return lines;
}

// What the student can do with a lesson, or has done.
std::string state_of(const RoadLine& line, const std::vector<judge::LessonInfo>& here) {
  const auto found = std::ranges::find(here, line.number, &judge::LessonInfo::number);
  if (found == here.end()) return "to come";
  return std::filesystem::exists(judge::exercise_file(line.number, workspace())) ? "started" : "here";
}

int show_lessons() {
  const auto here = judge::lessons();
  std::string chapter;
  for (const RoadLine& line : road()) {
    if (line.chapter != chapter) std::printf("%s%s\n", chapter.empty() ? "" : "\n", line.chapter.c_str());
    chapter = line.chapter;
    std::printf("  %d  %-8s %-40s %s\n", line.number, state_of(line, here).c_str(), line.title.c_str(),
                line.line.c_str());
  }
  std::printf(
      "\nBegin with ./ringcraft start 101, or where you like; the readings are "
      "lessons/NNN_name/README.md.\n");
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
  int latest = 0;
  std::filesystem::file_time_type newest;
  for (const auto& info : judge::lessons()) {
    const auto file = judge::exercise_file(info.number, workspace());
    if (!std::filesystem::exists(file)) continue;
    const auto time = std::filesystem::last_write_time(file);
    if (latest == 0 || time > newest) {
      latest = info.number;
      newest = time;
    }
  }
  if (latest == 0) throw Error("check: no exercise is started; begin with ./ringcraft start 101");
  return latest;
}

struct CheckFlags {
  int lesson = 0;
  bool debug = false;
  std::uint64_t seed = 1;
  std::string json;
};

// The same checks in one process, which becomes that of this program: whatever happens is simply seen.
int debug(int lesson, const CheckFlags& flags) {
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
  const int lesson = flags.lesson == 0 ? latest_started() : flags.lesson;
  if (flags.debug) return debug(lesson, flags);
  require_writable("--json", flags.json);
  judge::CheckOptions options;
  options.seed = flags.seed;
  Progress progress(1);
  options.progress = [&](const std::string& claim, int done, int total) {
    progress.at(static_cast<double>(done) / std::max(1, total), claim);
  };
  const verify::Report report = judge::check(lesson, workspace(), options);
  std::fputs(verify::text_of(report, colour()).c_str(), stdout);
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
  judge->add_flag("--debug", flags->debug, "Run the checks in one process that a debugger can look into");
  judge->footer("Example: ./ringcraft check 104");
  judge->callback([&action, flags] { action = [flags] { return check(*flags); }; });
}

}  // namespace ringcraft::tool
