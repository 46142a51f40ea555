// grade: judges what a class has handed in, and writes the reports.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <set>
#include <thread>

#include "grade/intake/metadata.hpp"
#include "grade/jail/jail.hpp"
#include "grade/pages/pages.hpp"
#include "grade/run/grader.hpp"
#include "judge/checks/lesson.hpp"
#include "judge/checks/road.hpp"
#include "judge/puzzle/puzzle.hpp"
#include "judge/tree/text_file.hpp"
#include "judge/verdict/judge.hpp"
#include "ringcraft/core/error.hpp"
#include "ringcraft/core/shown.hpp"
#include "ringcraft/io/text_file.hpp"
#include "tool/commands/grade_commands.hpp"
#include "tool/course/course.hpp"
#include "tool/course/lesson_list.hpp"
#include "tool/course/puzzles.hpp"
#include "tool/terminal/output.hpp"

namespace ringcraft::tool {
namespace {

namespace fs = std::filesystem;

constexpr std::uintmax_t kLargestMetadata = 1 << 20;  // bytes

// The parts of --explain, "ada:104.identity".
struct Question {
  std::string student, check, exercise;  // "ada", "104.identity", "104"
};
Question question_of(const std::string& text) {
  const auto colon = text.find(':');
  if (colon == text.npos) return {};
  const std::string check = text.substr(colon + 1);
  const auto point = check.rfind('.');
  return {text.substr(0, colon), check, point == check.npos ? "" : check.substr(0, point)};
}

// Puts the exercises of these lessons into the options: lessons, then, if they are asked for, side exercises
// that are the same for everyone.
void choose_exercises(const GradeRequest& request, grade::GradeOptions& options) {
  const Course course;
  const std::set<int> known = judged_lessons();
  const std::set<int> chosen =
      request.lessons.empty() ? known : lessons_listed("--lessons", request.lessons, known);
  const std::string asked = question_of(request.explain).exercise;
  for (const int number : chosen) {
    const judge::LessonInfo& lesson = course.info(number);
    options.exercises.push_back({std::to_string(number), course.line(number).title, lesson.name,
                                 fs::path(lesson.source).filename().string()});
    options.all_points.push_back(judge::all_points(judge::checks_of(judge::lesson_numbered(number))));
    for (const judge::Puzzle& puzzle : judge::puzzles()) {
      const bool is_wanted = request.side_exercises || puzzle.id == asked;
      if (!is_wanted || puzzle.lesson() != number || puzzle.seeded) continue;
      options.exercises.push_back({puzzle.id, puzzle.title, lesson.name, puzzle.file});
      options.all_points.push_back(judge::all_points(puzzle));
    }
  }
  options.only_handed_in = request.lessons.empty();
}

std::string first_line_of(const std::string& file) {
  const std::string text = read_text_file("grade", file, kLargestMetadata);
  return text.substr(0, text.find('\n'));
}

grade::GradeOptions options_of(const GradeRequest& request) {
  grade::GradeOptions options;
  options.folder = fs::absolute(request.folder).lexically_normal();
  options.out = fs::absolute(request.out).lexically_normal();
  if (!request.seed.empty()) options.secret = grade::Secret(request.seed);
  if (!request.seed_file.empty()) options.secret = grade::Secret(first_line_of(request.seed_file));
  if (!request.submission.empty())
    options.whose = grade::read_submission(read_text_file("grade", request.submission, kLargestMetadata));
  options.jobs =
      request.jobs > 0 ? request.jobs : static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  options.without = {request.without.begin(), request.without.end()};
  options.again = request.again;
  options.program = fs::read_symlink("/proc/self/exe");
  options.tree = source_root();
  options.build = options.program.parent_path().parent_path();
  options.title = request.title;
  if (!request.roster.empty())
    options.roster = grade::read_roster(read_text_file("grade --roster", request.roster, kLargestMetadata),
                                        shown(request.roster, 200));
  choose_exercises(request, options);
  return options;
}

// In the table, where a number would say too much.
std::string_view sign_of(grade::State state) {
  switch (state) {
    case grade::State::kMissing:
      return "-";
    case grade::State::kUngradable:
      return "x";
    case grade::State::kUnjudged:
      return "?";
    case grade::State::kGraded:
      break;
  }
  return "";
}

// "Zo-ngstr-m    6    -   12  Zoë Ångström": a line per student, and the signs that occur.
std::string table_of(const grade::ClassResults& results) {
  std::size_t width = 7;
  for (const grade::StudentResults& student : results.students) width = std::max(width, student.key.size());
  std::vector<std::size_t> widths;
  for (const grade::Exercise& exercise : results.exercises)
    widths.push_back(std::max<std::size_t>(5, exercise.id.size()));
  std::string head = fmt::format("{:{}}", "student", width), all = fmt::format("{:{}}", "of", width), rows;
  for (std::size_t e = 0; e < widths.size(); ++e) {
    head += fmt::format(" {:>{}}", results.exercises[e].id, widths[e]);
    all += fmt::format(" {:>{}g}", results.all_points[e], widths[e]);
  }
  std::set<grade::State> states;
  for (const grade::StudentResults& student : results.students) {
    rows += fmt::format("{:{}}", student.key, width);
    for (std::size_t e = 0; e < widths.size(); ++e) {
      const grade::Result& result = student.results[e];
      states.insert(result.state());
      rows += result.state() == grade::State::kGraded
                  ? fmt::format(" {:>{}g}", result.points(), widths[e])
                  : fmt::format(" {:>{}}", sign_of(result.state()), widths[e]);
    }
    rows +=
        fmt::format(" {:>7g}{}\n", student.points(), student.name == student.key ? "" : "  " + student.name);
  }
  states.erase(grade::State::kGraded);
  std::string signs;
  for (const grade::State state : states)
    signs += fmt::format("{}{} {}", signs.empty() ? "" : ", ", sign_of(state), grade::name_of(state));
  return head + fmt::format(" {:>7}\n", "sum") + all + fmt::format(" {:>7g}\n", results.points()) + rows +
         (signs.empty() ? "" : signs + "\n");
}

std::vector<std::string> given_for(const std::string& exercise) {
  if (judge::is_puzzle(exercise)) return {judge::puzzle_named(exercise).given(1)};
  const int lesson = lesson_of(exercise);
  std::vector<std::string> all{judge::exercise_text(lesson)};
  try {
    all.push_back(judge::read_text(judge::original_file(lesson)));
  } catch (const Error&) {  // this tree has it as an object only
  }
  return all;
}

// Throws Error if the judge did not come to an end for all files.
void require_judged(const grade::ClassResults& results) {
  std::size_t unjudged = 0;
  std::string first;
  for (const grade::StudentResults& student : results.students)
    for (const grade::Result& result : student.results)
      for (const grade::Record& record : result.attempts)
        if (record.state == grade::State::kUnjudged && unjudged++ == 0)
          first = student.key + ", " + record.exercise + ": " + record.sentence;
  if (unjudged > 0)
    throw Error("grade", "a verdict on every file", fmt::format("{} without one ({})", unjudged, first),
                "call it again: it judges these alone", Code::kMissing);
}

// Runs the checks of an exercise again, and shows the one that is asked about.
int explain(const GradeRequest& request, const grade::GradeOptions& options) {
  const auto [student, check, exercise] = question_of(request.explain);
  if (exercise.empty())
    throw Error("--explain", "a student and a check, as in ada:104.identity", request.explain,
                "take both from the student's page");
  grade::Explained explained = grade::explain(options, student, exercise);
  if (judge::is_puzzle(exercise) && !judge::puzzle_named(exercise).runs_checks) explained.report.seed = {};
  verify::Report one{explained.report.title, {}, explained.report.seed};
  const auto& rows = explained.report.rows;
  const auto asked = std::ranges::find(rows, check, &verify::ReportRow::id);
  if (asked == rows.end())
    throw Error("--explain", "a check of " + exercise, check, "take it from the student's page");
  // A cause stands with the first check that failed, and is often that of the others.
  if (asked->status != verify::Status::kPassed && asked->causes.empty())
    std::copy_if(rows.begin(), asked, std::back_inserter(one.rows),
                 [](const verify::ReportRow& row) { return !row.causes.empty(); });
  one.rows.push_back(*asked);
  std::printf("%s: %s, attempt %zu of %zu%s\n", explained.name.c_str(),
              shown(explained.file.filename().string(), 200).c_str(), explained.attempt, explained.attempts,
              explained.late ? ", late" : "");
  std::fputs(verify::text_of(one, colour()).c_str(), stdout);
  std::printf("the same file%s: ./ringcraft check %s --file '%s'%s\n",
              one.seed ? ", and the same inputs" : "", exercise.c_str(), explained.file.c_str(),
              one.seed ? fmt::format(" --seed {}", *one.seed).c_str() : "");
  return 0;
}

// The lines of a roster without a hand-in, and students without a line: a person must look.
void tell_enrolment(const grade::ClassResults& results) {
  if (!results.enrolment) return;
  const grade::Absences absences = grade::absences_of(results);
  std::printf("roster: %s without a hand-in", counted(absences.without_hand_in.size(), "line").c_str());
  for (const grade::StudentResults* student : absences.without_line)
    std::printf(
        "%s%s",
        student == absences.without_line.front() ? "; on no line, so without points in roster.csv: " : ", ",
        student->key.c_str());
  std::printf("\n");
}

}  // namespace

int grade(const GradeRequest& request) {
  grade::GradeOptions options = options_of(request);
  if (!request.explain.empty()) return explain(request, options);
  std::optional<Progress> progress(std::in_place, 1, "stopped; the same call goes on where it was\n");
  options.given = given_for;
  options.progress = [&](std::size_t done, std::size_t total, const std::string& what) {
    progress->at(static_cast<double>(done) / static_cast<double>(std::max<std::size_t>(1, total)),
                 fmt::format("{} of {}: {}", done, total, what));
  };
  if (!request.results.empty())
    options.so_far = [&](const grade::ClassResults& results) {
      grade::write_whole(request.results, grade::gradescope_json(results, results.students.front()));
    };
  const grade::ClassResults results = grade::grade(options);
  progress.reset();
  std::fputs(table_of(results).c_str(), stdout);
  tell_enrolment(results);
  std::printf("pages: %s\n", (options.out / "index.html").c_str());
  require_judged(results);
  return 0;
}

}  // namespace ringcraft::tool
