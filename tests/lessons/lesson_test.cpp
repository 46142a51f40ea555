// One lesson as its students meet it: lesson_test reference 104 hands in the library's own file, which must
// pass every check without a warning; lesson_test skeleton 104 hands in the file that start writes, which
// must compile without a warning, belong, and earn nothing; lesson_test idle 104 hands in the same without
// its exception, which computes nothing, and earns nothing. Exits 0 if it is so; the report of the judge is
// printed either way.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <fstream>
#include <iterator>

#include "judge/verdict/judge.hpp"
#include "ringcraft/core/error.hpp"

namespace ringcraft::judge {
namespace {

using verify::Report;
using verify::ReportRow;
using verify::Status;

// Prints deviations.
bool require(bool holds, const char* what) {
  if (!holds) std::printf("NOT SO: %s\n", what);
  return holds;
}

bool reference_passes(const LessonInfo& lesson) {
  const Report report =
      check(lesson.number, std::filesystem::path(RINGCRAFT_SOURCE_DIR) / lesson.source).report;
  std::fputs(verify::text_of(report).c_str(), stdout);
  const bool all = report.count(Status::kPassed) == static_cast<int>(report.rows.size());
  const bool silent = std::ranges::all_of(report.rows, &std::string::empty, &ReportRow::sentence);
  return require(report.good() && all, "every check passes") &
         require(report.points() == report.all_points(), "it earns all points") &
         require(silent, "the compiler has nothing to remark");
}

// The files that start writes, in a folder that removes itself.
struct Skeleton {
  explicit Skeleton(int lesson) {
    if (::mkdtemp(folder.data()) == nullptr) throw Error("lesson_test: there is no folder to work in");
    file = start(lesson, folder);
  }
  ~Skeleton() { std::filesystem::remove_all(folder); }
  Skeleton(const Skeleton&) = delete;
  Skeleton& operator=(const Skeleton&) = delete;

  std::string folder = std::string(RINGCRAFT_BINARY_DIR) + "/skeleton-XXXXXX";
  std::filesystem::path file;
};

std::string exception_of(int lesson) { return "lesson " + std::to_string(lesson) + " is not written yet"; }

bool skeleton_fails(const LessonInfo& lesson) {
  const Skeleton skeleton(lesson.number);
  const bool place =
      require(skeleton.file == exercise_file(lesson.number, skeleton.folder), "start and check agree");
  const Report report = check(lesson.number, started_file(lesson.number, skeleton.folder)).report;
  std::fputs(verify::text_of(report).c_str(), stdout);
  const std::string words = exception_of(lesson.number);
  return place & require(report.rows[0].status == Status::kPassed, "it compiles") &
         require(report.rows[0].sentence.empty(), "the compiler has nothing to remark on it") &
         require(report.rows[1].status == Status::kPassed, "it belongs") &
         require(report.points() == 0, "it earns no point") &
         require(report.rows[2].sentence.find(words) != words.npos, "the first check says what is missing");
}

// The report on the skeleton with this body for each missing one.
Report report_with(const LessonInfo& lesson, const std::string& body) {
  const Skeleton skeleton(lesson.number);
  std::ifstream given(skeleton.file);
  std::string text{std::istreambuf_iterator<char>(given), {}};
  const std::string missing = "throw NotWritten(" + std::to_string(lesson.number) + ");";
  if (text.find(missing) == text.npos) throw Error("lesson_test: the skeleton does not say " + missing);
  for (std::size_t at; (at = text.find(missing)) != text.npos;) text.replace(at, missing.size(), body);
  std::ofstream(skeleton.file) << text;
  return check(lesson.number, skeleton.file).report;
}

// Bodies that compute nothing: they return an empty value, or their argument; where neither compiles,
// nothing.
bool idle_earns_nothing(const LessonInfo& lesson) {
  std::vector<Report> reports;
  for (const std::string body : {"return {};", "return state;", ""})
    if (!body.empty() || reports.empty())
      if (Report report = report_with(lesson, body); report.rows[0].status == Status::kPassed)
        reports.push_back(std::move(report));
  bool all = require(!reports.empty(), "some body that computes nothing compiles");
  for (const Report& report : reports) {
    std::fputs(verify::text_of(report).c_str(), stdout);
    all = require(report.rows[1].status == Status::kPassed, "it belongs") &
          require(report.points() == 0, "it earns no point") & all;
  }
  return all;
}

}  // namespace
}  // namespace ringcraft::judge

int main(int argc, char** argv) {
  using namespace ringcraft::judge;
  try {
    const auto all = lessons();
    const auto lesson =
        argc == 3 ? std::ranges::find(all, std::atoi(argv[2]), &LessonInfo::number) : all.end();
    if (lesson == all.end()) {
      std::fputs("usage: lesson_test reference|skeleton|idle LESSON\n", stderr);
      return 2;
    }
    const bool so = std::strcmp(argv[1], "skeleton") == 0 ? skeleton_fails(*lesson)
                    : std::strcmp(argv[1], "idle") == 0   ? idle_earns_nothing(*lesson)
                                                          : reference_passes(*lesson);
    return so ? 0 : 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
}
