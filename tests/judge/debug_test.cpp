// Checks in one process, for debuggers: the same report as the judge's; a crash is a crash, with a stack
// where a sanitizer is there; and the checks keep their own library, for every file that the student's
// replaces.
#include <algorithm>
#include <filesystem>

#include "judge/tree/config.hpp"
#include "judge/verdict/judge.hpp"
#include "misconceptions/edit.hpp"
#include "process/child.hpp"
#include "reports.hpp"
#include "support/errors.hpp"

namespace ringcraft::judge {
namespace {

using process::Finished;

// The output of the program of this file, and how it ends.
Finished debugged(int lesson, const std::filesystem::path& file) {
  const DebugBuild built = build_for_debugging(lesson, file);
  INFO(verify::text_of(built.report));
  REQUIRE_FALSE(built.program.empty());
  return process::run_command(
      {.arguments = {built.program.string(), std::to_string(lesson)}, .environment = {"PATH=/usr/bin:/bin"}},
      std::chrono::seconds(120));
}

std::filesystem::path file_of(const std::string& name) { return kRoot / "tests" / (name + ".cpp"); }

bool sanitized() { return std::ranges::find(kDebug, "-fsanitize=address,undefined") != kDebug.end(); }

}  // namespace

TEST_CASE("in one process right files pass and wrong ones fail with the judge's sentences") {
  for (const LessonInfo& lesson : lessons()) {
    if (lesson.number != 104 && lesson.number != 303) continue;
    const Finished right = debugged(lesson.number, kRoot / lesson.source);
    INFO(right.printed);
    CHECK(right.good());
    CHECK(testing::contains(right.printed, " 0 failed, 0 skipped"));
  }
  for (const std::string name : {"misconceptions/104_merge/average", "attacks/104_merge/throws",
                                 "misconceptions/303_ring_forward/all_send_first",
                                 "misconceptions/303_ring_forward/computes_on_arriving",
                                 "misconceptions/402_token_layouts/turned_once"}) {
    const int lesson = std::stoi(name.substr(name.find('/') + 1));
    const HandedIn submission(lesson, kRoot / "tests" / name);
    const verify::Report report = check(lesson, submission.file()).report;
    const Finished finished = debugged(lesson, submission.file());
    INFO(finished.printed);
    CHECK(finished.ending.number == 1);
    for (const verify::ReportRow& row : report.rows) {
      if (row.status != verify::Status::kFailed) continue;
      std::string sentence = row.sentence.substr(0, row.sentence.find('\n'));
      if (const auto knot = sentence.find("deadlock: "); knot != sentence.npos)
        sentence.resize(knot);  // a report of a cycle of waits may begin with any of its ranks
      CHECK(testing::contains(finished.printed, sentence));
    }
  }
}

TEST_CASE("in one process a crash is a crash, with a stack where a sanitizer is there") {
  const Finished crash = debugged(104, file_of("attacks/104_merge/crashes"));
  INFO(crash.printed);
  CHECK_FALSE(crash.good());
  if (!sanitized()) return;
  CHECK(testing::contains(crash.printed, "AddressSanitizer"));
  CHECK(testing::contains(crash.printed, "crashes.cpp"));
}

TEST_CASE("a file that does not compile or does not belong has a report and no program") {
  for (const char* name : {"attacks/104_merge/syntax_error", "attacks/104_merge/calls_the_library"}) {
    const DebugBuild built = build_for_debugging(104, file_of(name));
    CHECK(built.program.empty());
    CHECK_FALSE(built.report.good());
    CHECK(built.report.count(verify::Status::kSkipped) >= 11);
  }
}

}  // namespace ringcraft::judge
