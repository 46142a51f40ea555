// Outcomes: the sign and the code of a check say how it failed, independent of its sentence.
#include "judge/outcome/outcome.hpp"

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "judge/verdict/judge.hpp"
#include "misconceptions/edit.hpp"
#include "support/catch.hpp"

namespace ringcraft::judge {
namespace {

using verify::ErrorMap;

const std::filesystem::path kTests = std::filesystem::path(RINGCRAFT_SOURCE_DIR) / "tests";

struct Expected {
  const char* file;   // below tests/misconceptions, or tests/attacks
  const char* check;  // of its lesson
  char sign;
  const char* code;
};

const std::vector<Expected> kExpected{
    {"misconceptions/104_merge/average", "two-halves", sign::kValues, "number"},
    {"misconceptions/104_merge/average", "odd-sizes", sign::kSkipped, ""},
    {"misconceptions/104_merge/average", "compiles", sign::kPassed, ""},
    {"attacks/104_merge/returns_nan", "two-halves", sign::kNoNumber, "number"},
    {"attacks/104_merge/crashes", "two-halves", sign::kEnded, "crash"},
    {"attacks/104_merge/throws", "two-halves", sign::kThrew, "exception"},
    {"attacks/104_merge/stray_bytes", "two-halves", sign::kProtocol, "protocol"},
    {"misconceptions/104_merge/writes_block", "block-unchanged", sign::kInput, "argument-changed"},
    {"attacks/104_merge/syntax_error", "compiles", sign::kNotBuilt, ""},
    {"attacks/104_merge/syntax_error", "two-halves", sign::kSkipped, ""},
    {"misconceptions/105_blockwise/first_rows", "row-tiles", sign::kNoNumber, "values"},
    {"misconceptions/303_ring_forward/all_send_first", "no-deadlock", sign::kMessages, "deadlock-of-sends"},
    {"misconceptions/303_ring_forward/rotates_once_more", "exact-bytes", sign::kCounts, "bytes"},
    {"misconceptions/303_ring_forward/wrong_label", "causal", sign::kValues, "values"},
};

}  // namespace

TEST_CASE("a map with a row that is no number has the sign for it") {
  const std::vector<ErrorMap> maps{{"out", {"....", ".x.x", "...."}}, {"dk", {"x...", "xxxx", "..n."}}};
  CHECK(sign_of(maps) == sign::kNoNumber);
  CHECK(sign_of({maps[0]}) == sign::kValues);
}

TEST_CASE("the outcome of a check says how it failed") {
  std::string file;
  Verdict verdict;
  for (const Expected& each : kExpected) {
    INFO(each.file << ", " << each.check);
    const std::string number = std::string(each.file).substr(std::string(each.file).find('/') + 1, 3);
    if (file != each.file) {
      file = each.file;
      verdict = check(std::stoi(number), HandedIn(std::stoi(number), kTests / file).file());
    }
    REQUIRE(verdict.outcomes.size() == verdict.report.rows.size());
    const auto found =
        std::ranges::find(verdict.report.rows, number + "." + each.check, &verify::ReportRow::id);
    REQUIRE(found != verdict.report.rows.end());
    const Outcome& outcome = verdict.outcomes[static_cast<std::size_t>(found - verdict.report.rows.begin())];
    CHECK(outcome.status == found->status);
    CHECK(outcome.sign == each.sign);
    CHECK(found->code == each.code);
  }
}

TEST_CASE("a hang has a sign of its own") {
  CheckOptions options;
  options.per_call = std::chrono::milliseconds(300);
  const Verdict verdict = check(104, kTests / "attacks/104_merge/hangs.cpp", options);
  CHECK(verdict.outcomes[2].sign == sign::kHang);
  CHECK(verdict.outcomes[3].sign == sign::kSkipped);
}

}  // namespace ringcraft::judge
