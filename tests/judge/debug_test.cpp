// Checks in one process, for debuggers: the same report as the judge's; a crash is a crash, with a stack
// where a sanitizer is there; and the checks keep their own library, whatever file the student's replaces.
#include <algorithm>
#include <filesystem>

#include "judge/child.hpp"
#include "judge/config.hpp"
#include "support/errors.hpp"
#include "verdicts.hpp"

namespace ringcraft::judge {
namespace {

// What the program of this file prints, and how it ends.
Finished debugged(int lesson, const std::filesystem::path& file) {
  const DebugBuild built = build_for_debugging(lesson, file);
  INFO(verify::text_of(built.report));
  REQUIRE_FALSE(built.program.empty());
  return run_command(
      {.arguments = {built.program.string(), std::to_string(lesson)}, .environment = {"PATH=/usr/bin:/bin"}},
      std::chrono::seconds(120));
}

std::filesystem::path wrong(const std::string& name) { return kRoot / "tests/judge/wrong" / (name + ".cpp"); }

bool sanitized() { return std::ranges::find(kDebug, "-fsanitize=address,undefined") != kDebug.end(); }

}  // namespace

TEST_CASE("in one process right files pass and wrong ones fail with the judge's sentences") {
  for (const LessonInfo& lesson : lessons()) {
    if (lesson.number != 104 && lesson.number != 303) continue;
    const Finished right = debugged(lesson.number, kRoot / "src" / lesson.source);
    INFO(right.printed);
    CHECK(right.good());
    CHECK(testing::contains(right.printed, " 0 failed, 0 skipped"));
  }
  for (const char* name :
       {"104_average", "104_throws", "303_all_send_first", "303_computes_on_arriving", "402_turned_once"}) {
    const int lesson = std::stoi(name);
    const verify::Report report = check_file(lesson, wrong(name));
    const Finished finished = debugged(lesson, wrong(name));
    INFO(finished.printed);
    CHECK(finished.ending.number == 1);
    for (const verify::ReportRow& row : report.rows)
      if (row.status == verify::Status::kFailed)
        CHECK(testing::contains(finished.printed, row.sentence.substr(0, row.sentence.find('\n'))));
  }
}

TEST_CASE("in one process a crash is a crash, with a stack where a sanitizer is there") {
  const Finished crash = debugged(104, wrong("104_crashes"));
  INFO(crash.printed);
  CHECK_FALSE(crash.good());
  if (!sanitized()) return;
  CHECK(testing::contains(crash.printed, "AddressSanitizer"));
  CHECK(testing::contains(crash.printed, "104_crashes.cpp"));
}

TEST_CASE("a file that does not compile or does not belong has a report and no program") {
  for (const char* name : {"104_syntax_error", "104_calls_the_library"}) {
    const DebugBuild built = build_for_debugging(104, wrong(name));
    CHECK(built.program.empty());
    CHECK_FALSE(built.report.good());
    CHECK(built.report.count(verify::Status::kSkipped) >= 11);
  }
}

}  // namespace ringcraft::judge
