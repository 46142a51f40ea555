// lessons, start, check: the course from the command line. The student's workspace is exercises/ in the
// project's folder.
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <optional>
#include <random>

#include "judge/puzzle/puzzle.hpp"
#include "judge/verdict/judge.hpp"
#include "process/child.hpp"
#include "ringcraft/core/error.hpp"
#include "ringcraft/core/shown.hpp"
#include "tool/attention/own_files.hpp"
#include "tool/commands/course_commands.hpp"
#include "tool/course/checker.hpp"
#include "tool/course/course.hpp"
#include "tool/course/puzzles.hpp"
#include "tool/terminal/output.hpp"
#include "verify/report/report.hpp"

namespace ringcraft::tool {
namespace {

const std::filesystem::path kRoot = source_root();

// The default of check when nothing is named: the exercise whose file was changed last.
std::string latest_started() {
  const Course course;
  const auto lesson = course.latest();
  std::optional<std::filesystem::file_time_type> newest;
  if (lesson) newest = std::filesystem::last_write_time(course.exercise(*lesson));
  if (const auto puzzle = puzzle_newer(newest, workspace())) return *puzzle;
  if (!lesson) throw Error("check: no exercise is started; begin with ./ringcraft start 101");
  return std::to_string(*lesson);
}

// A seed that cannot be known beforehand, and that can be typed.
std::uint64_t any_seed() {
  std::random_device device;
  return std::uniform_int_distribution<std::uint64_t>(1, judge::kLargestSeed)(device);
}

// Of a seed that was typed; of "-" the one in the standard input, which no other user sees as they see a
// command's arguments. Read by the program that judges, and by no other before it.
std::optional<std::uint64_t> seed_of(const std::string& typed) {
  if (typed.empty()) return {};
  std::string digits = typed;
  if (typed == "-") std::getline(std::cin, digits);
  std::uint64_t seed = 0;
  const auto [end, failure] = std::from_chars(digits.data(), digits.data() + digits.size(), seed);
  if (failure != std::errc() || end != digits.data() + digits.size())
    throw Error("check --seed -", "a whole number in the standard input",
                digits.empty() ? "nothing" : shown(digits), "pipe it in");
  return seed;
}

std::string shown_verdict(const verify::Report& report, const std::string& id, bool all) {
  if (all || report.count(verify::Status::kFailed) == 0) return verify::text_of(report, colour());
  const verify::BriefText brief = verify::brief_text_of(report, colour());
  return brief.first + brief.others + brief.rest + "all of it: ./ringcraft check " + id + " --all\n";
}

// The file that is judged: the one that was named, or the student's own.
std::filesystem::path file_of(const std::string& id, const CheckRequest& request) {
  if (!request.file.empty()) return request.file;
  return judge::is_puzzle(id) ? judge::puzzle_file(judge::puzzle_named(id), workspace())
                              : judge::started_file(lesson_of(id), workspace());
}

verify::Report judged_puzzle(const std::string& id, const CheckRequest& request,
                             const judge::CheckOptions& options) {
  return request.file.empty() ? judge::check_puzzle(id, workspace(), options)
                              : judge::check_puzzle_file(id, request.file, options);
}

// The same checks in one process, which replaces this one, so that its output and its crash are visible.
int debug(const std::string& id, const CheckRequest& request) {
  if (judge::is_puzzle(id))
    throw Error("check --debug", "a lesson's number", id, "a side exercise is checked without --debug");
  const int lesson = lesson_of(id);
  if (!request.json.empty())
    throw Error("check", "--debug alone", "--json, too",
                "leave out one: a debugged program gives no verdict");
  const auto file = file_of(id, request);
  become_checker(lesson);
  const auto built = judge::build_for_debugging(lesson, file);
  if (built.program.empty()) {
    std::fputs(verify::text_of(built.report, colour()).c_str(), stdout);
    return static_cast<int>(Code::kWrongAnswer);
  }
  const std::string number = std::to_string(lesson),
                    seed = std::to_string(seed_of(request.seed).value_or(judge::kSeedOfCorpus));
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

}  // namespace

int show_lessons() {
  std::fputs(road_text(Course(), colour()).c_str(), stdout);
  return 0;
}

int start(const std::string& id, std::optional<std::uint64_t> seed) {
  if (judge::is_puzzle(id)) {
    start_puzzle(id, seed, workspace());
    return 0;
  }
  if (seed) throw Error("start", "--seed with a side exercise", id, "leave it out");
  const int lesson = lesson_of(id);
  const judge::LessonInfo info = Course().info(lesson);
  const auto file = judge::start(lesson, workspace());
  std::printf(
      "%s is yours: write the body of %s.\nReading: lessons/%s/README.md\nThen: ./ringcraft check %d\n",
      shown_path(file).c_str(), info.function.c_str(), info.name.c_str(), lesson);
  return 0;
}

int check(const CheckRequest& request) {
  if (request.id.empty() && !request.file.empty())
    throw Error("check --file", "the exercise that it is for", "none",
                "name it: ./ringcraft check 104 --file F");
  const std::string id = request.id.empty() ? latest_started() : request.id;
  if (request.debug) return debug(id, request);
  require_writable("--json", request.json);
  if (request.children_as) process::run_children_as(*request.children_as);
  const bool puzzle = judge::is_puzzle(id);
  const bool kernel = !puzzle && Course().info(lesson_of(id)).source.ends_with(".cu");
  const std::filesystem::path file = file_of(id, request);
  become_checker(lesson_of(id));
  judge::CheckOptions options;
  const std::optional<std::uint64_t> form = seed_of_form(id);
  options.words = request.confidential ? judge::Words::kHidden : judge::Words::kShown;
  options.seed = seed_of(request.seed).value_or(form.value_or(any_seed()));
  Progress progress(1);
  options.progress = [&](const std::string& claim, int done, int total) {
    progress.at(static_cast<double>(done) / std::max(1, total), claim);
  };
  const Attempt attempt(id, file);
  verify::Report report =
      puzzle ? judged_puzzle(id, request, options) : judge::check(lesson_of(id), file, options).report;
  if (kernel && report.good())
    if (KernelPlace place = kernel_place(Backend::kThreads, Layout::kZigzag); place.gpu) {
      progress.at(1, "the ladder's stages on " + place.kernels.device);
      for (verify::ReportRow& row : stages_with_own_file(lesson_of(id), std::move(place), options.seed))
        report.rows.push_back(std::move(row));
    }
  if (!form) report.seed = options.seed;
  std::fputs(shown_verdict(report, id, request.all).c_str(), stdout);
  if (request.file.empty()) attempt.finished(report);
  if (!request.json.empty()) write_json(request.json, report);
  return report.good() ? 0 : static_cast<int>(Code::kWrongAnswer);
}

}  // namespace ringcraft::tool
