// Writes the files of exercises, and judges those of students.
#include "judge/verdict/judge.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <optional>
#include <sstream>

#include "judge/build/toolchain.hpp"
#include "judge/checks/lesson.hpp"
#include "judge/tree/config.hpp"
#include "judge/tree/marks.hpp"
#include "judge/tree/text_file.hpp"
#include "judge/verdict/diagnosis.hpp"
#include "judge/verdict/judgement.hpp"
#include "ringcraft/core/error.hpp"
#include "ringcraft/io/text_file.hpp"

namespace ringcraft::judge {
namespace {

std::set<int> numbers() {
  std::set<int> result;
  for (const Lesson& lesson : all_lessons()) result.insert(lesson.number);
  return result;
}

// In an exported tree the unpacked file replaces the one in the tree, whose body is sealed.
std::filesystem::path library_file(const Lesson& lesson) {
  const auto unsealed = std::filesystem::path(kUnsealedRoot) / lesson.source;
  if (!kUnsealedRoot.empty() && std::filesystem::exists(unsealed)) return unsealed;
  return std::filesystem::path(kSourceRoot) / lesson.source;
}

bool has_body(const Lesson& lesson, const std::string& text, const std::string& file) {
  return std::ranges::any_of(parse_marks(text, file, numbers()),
                             [&](const Region& region) { return region.lesson == lesson.number; });
}

// The file that `start` writes. Where the body is a prebuilt object, the file in the tree is already the
// skeleton.
std::string exercise_text(const Lesson& lesson) {
  const auto file = library_file(lesson);
  const std::string text = read_text(file);
  if (!kUnsealedRoot.empty() && !has_body(lesson, text, file.string())) return text;
  return skeleton(text, file.string(), numbers(), lesson.number);
}

// Throws Error if this build cannot judge the lesson.
void require_judge(const Lesson& lesson) {
  if (!lesson.can_be_judged())
    throw Error("check", "a build that runs CUDA kernels on the CPU", "one without Boost.Context and g++",
                "install libboost-context-dev", Code::kMissing);
}

// Runs the checks on the program that `build` has put into the folder; a kernel's lines have their names.
Verdict judged(const Lesson& lesson, const CheckOptions& options, const std::string& file,
               const WorkFolder& folder, const std::function<BuildStep()>& compiles,
               const std::function<BuildStep()>& belongs) {
  Team team(worker_program(folder), options.per_call, lesson.is_kernel(),
            lesson.timed && !lesson.is_kernel() ? Threads::kOne : Threads::kMany, options.words),
      library(library_program(folder), options.per_call);
  Judgement judgement(lesson, options);
  judgement.build(compiles, belongs);
  judgement.check(team, library);
  return std::move(judgement).verdict([&](const auto& places) { name_lines(places, file, folder); }, file);
}

}  // namespace

std::vector<LessonInfo> lessons() {
  std::vector<LessonInfo> result;
  for (const Lesson& l : all_lessons())
    result.push_back({l.number, l.name, l.source, l.function, l.can_be_judged()});
  return result;
}

std::filesystem::path exercise_file(int lesson, const std::filesystem::path& workspace) {
  const Lesson& declared = lesson_numbered(lesson);
  return workspace / declared.name / std::filesystem::path(declared.source).filename();
}

std::filesystem::path original_file(int lesson) {
  const Lesson& declared = lesson_numbered(lesson);
  const auto file = library_file(declared);
  if (!kUnsealedRoot.empty() && !has_body(declared, read_text(file), file.string()))
    throw Error("lesson " + std::to_string(lesson), "its solution in this tree", "a compiled object only",
                "ask the person who gave you the tree", Code::kMissing);
  return file;
}

std::filesystem::path started_file(int lesson, const std::filesystem::path& workspace) {
  const std::filesystem::path file = exercise_file(lesson, workspace);
  if (!std::filesystem::exists(file))
    throw Error("check", "your file " + file.string(), "none",
                "type ./ringcraft start " + std::to_string(lesson) + " to get it");
  return file;
}

std::string exercise_text(int lesson) { return exercise_text(lesson_numbered(lesson)); }

std::filesystem::path start(int lesson, const std::filesystem::path& workspace) {
  const std::filesystem::path target = exercise_file(lesson, workspace);
  begin_file(target, exercise_text(lesson_numbered(lesson)), std::to_string(lesson));
  return target;
}

bool untouched(int lesson, const std::filesystem::path& file) {
  return read_text_file("check", file, kLargestOwnFile) == exercise_text(lesson_numbered(lesson));
}

DebugBuild build_for_debugging(int lesson, const std::filesystem::path& file) {
  const Lesson& declared = lesson_numbered(lesson);
  if (declared.is_kernel())
    throw Error(
        "check --debug", "a lesson before 201 or after 299", std::to_string(lesson),
        "a checked launch names file, line and thread already: ./ringcraft check " + std::to_string(lesson));
  OwnSource source = take_source(file, declared.name);
  const WorkFolder folder;
  const CheckOptions options;
  Team nobody(worker_program(folder), options.per_call);
  Judgement judgement(declared, options);
  DebugBuild result;
  const bool built = judgement.build(
      [&] { return compile(declared, source, folder); },
      [&] {
        const BuildStep allowed = gate(declared, source, folder);
        return allowed.sentence.empty() ? link_debug(declared, source, folder, result.program) : allowed;
      });
  if (built) return result;
  judgement.check(nobody, nobody);  // skips all of them
  result.program.clear();
  result.report = std::move(judgement).verdict().report;
  return result;
}

bool has_checks(int lesson) { return checks_in_program(lesson_numbered(lesson).number) != nullptr; }

Verdict check(int lesson, const std::filesystem::path& file, const CheckOptions& options) {
  return std::move(check_under({&options.seed, 1}, lesson, file, options).front());
}

std::vector<Verdict> check_under(std::span<const std::uint64_t> seeds, int lesson,
                                 const std::filesystem::path& file, CheckOptions options) {
  const Lesson& declared = lesson_numbered(lesson);
  require_judge(declared);
  OwnSource source = take_source(file, declared.name);
  const WorkFolder folder;
  const std::string name = source.name();
  std::optional<BuildStep> compiled, belongs;  // once, for the first seed
  std::vector<Verdict> verdicts;
  for (const std::uint64_t seed : seeds) {
    options.seed = seed;
    verdicts.push_back(judged(
        declared, options, name, folder,
        [&] { return compiled ? *compiled : compiled.emplace(compile(declared, source, folder)); },
        [&] {
          if (belongs) return *belongs;
          BuildStep step = gate(declared, source, folder);
          if (step.sentence.empty()) step.sentence = link(declared, folder).sentence;
          return belongs.emplace(std::move(step));
        }));
    explain(verdicts.back());
  }
  return verdicts;
}

}  // namespace ringcraft::judge
