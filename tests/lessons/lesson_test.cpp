// One lesson as its students meet it: lesson_test reference 104 hands in the library's own file, which must
// pass every check without a warning; lesson_test skeleton 104 hands in what start writes, which must
// compile without a warning, belong, and earn nothing. Exits 0 if it is so; the report of the judge is
// printed either way.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>

#include "judge/judge.hpp"

namespace ringcraft::judge {
namespace {

using verify::Report;
using verify::ReportRow;
using verify::Status;

// Prints what is not as it must be.
bool require(bool holds, const char* what) {
  if (!holds) std::printf("NOT SO: %s\n", what);
  return holds;
}

bool reference_passes(const LessonInfo& lesson) {
  const Report report =
      check_file(lesson.number, std::filesystem::path(RINGCRAFT_SOURCE_DIR) / lesson.source);
  std::fputs(verify::text_of(report).c_str(), stdout);
  const bool all = report.count(Status::kPassed) == static_cast<int>(report.rows.size());
  const bool silent = std::ranges::all_of(report.rows, &std::string::empty, &ReportRow::sentence);
  return require(report.good() && all, "every check passes") &
         require(report.points() == report.all_points(), "it earns all points") &
         require(silent, "the compiler has nothing to remark");
}

bool skeleton_fails(const LessonInfo& lesson) {
  std::string folder = std::string(RINGCRAFT_BINARY_DIR) + "/skeleton-XXXXXX";
  if (::mkdtemp(folder.data()) == nullptr) return require(false, "there is a folder to work in");
  const auto file = start(lesson.number, folder);
  const bool place = require(file == exercise_file(lesson.number, folder), "start and check agree");
  const Report report = check(lesson.number, folder);
  std::filesystem::remove_all(folder);
  std::fputs(verify::text_of(report).c_str(), stdout);
  const std::string words = "lesson " + std::to_string(lesson.number) + " is not written yet";
  return place & require(report.rows[0].status == Status::kPassed, "it compiles") &
         require(report.rows[0].sentence.empty(), "the compiler has nothing to remark on it") &
         require(report.rows[1].status == Status::kPassed, "it belongs") &
         require(report.points() == 0, "it earns no point") &
         require(report.rows[2].sentence.find(words) != words.npos, "the first check says what is missing");
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
      std::fputs("usage: lesson_test reference|skeleton LESSON\n", stderr);
      return 2;
    }
    return (std::strcmp(argv[1], "skeleton") == 0 ? skeleton_fails(*lesson) : reference_passes(*lesson)) ? 0
                                                                                                         : 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
}
