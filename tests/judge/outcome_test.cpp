// Outcomes: the sign and the evidence of a check say how it failed, whatever its sentence is.
#include "judge/outcome.hpp"

#include <algorithm>

#include "verdicts.hpp"

namespace ringcraft::judge {
namespace {

using verify::ErrorMap;

struct Expected {
  const char* file;   // below wrong/
  const char* check;  // of its lesson
  char sign;
  const char* evidence;
};

const std::vector<Expected> kExpected{
    {"104_average", "two-halves", sign::kValues, "state:x"},
    {"104_average", "either-order", sign::kSkipped, ""},
    {"104_average", "block-unchanged", sign::kPassed, ""},
    {"104_returns_nan", "two-halves", sign::kNoNumber, "state:n"},
    {"104_crashes", "two-halves", sign::kEnded, ""},
    {"104_throws", "two-halves", sign::kThrew, ""},
    {"104_stray_bytes", "two-halves", sign::kProtocol, ""},
    {"104_writes_block", "block-unchanged", sign::kInput, ""},
    {"104_syntax_error", "compiles", sign::kNotBuilt, ""},
    {"104_syntax_error", "two-halves", sign::kSkipped, ""},
    {"105_first_rows", "row-tiles", sign::kNoNumber, "out:x lse:n"},
    {"303_all_send_first", "no-deadlock", sign::kMessages, ""},
    {"303_rotates_once_more", "exact-bytes", sign::kCounts, ""},
    {"303_wrong_label", "causal", sign::kValues, "out:.x. lse:.x."},
};

}  // namespace

TEST_CASE("evidence names the tensors and the ranks that are wrong") {
  const std::vector<ErrorMap> maps{{"out", {"....", ".x.x", "...."}}, {"dk", {"x...", "xxxx", "..n."}}};
  CHECK(evidence_of(maps) == "out:.x. dk:xxn");
  CHECK(sign_of(maps) == sign::kNoNumber);
  CHECK(sign_of({maps[0]}) == sign::kValues);
  CHECK(evidence_of({}) == "");
}

TEST_CASE("the outcome of a check says how it failed") {
  std::string file;
  Verdict verdict;
  for (const Expected& each : looked_at(kExpected)) {
    INFO(each.file << ", " << each.check);
    if (file != each.file) {
      file = each.file;
      verdict = verdict_on_file(std::stoi(file), kRoot / "tests/judge/wrong" / (file + ".cpp"));
    }
    REQUIRE(verdict.outcomes.size() == verdict.report.rows.size());
    const auto found =
        std::ranges::find(verdict.report.rows, file.substr(0, 3) + "." + each.check, &verify::ReportRow::id);
    REQUIRE(found != verdict.report.rows.end());
    const Outcome& outcome = verdict.outcomes[static_cast<std::size_t>(found - verdict.report.rows.begin())];
    CHECK(outcome.status == found->status);
    CHECK(outcome.sign == each.sign);
    CHECK(outcome.evidence == each.evidence);
  }
}

TEST_CASE("a hang has a sign of its own") {
  CheckOptions options;
  options.per_call = std::chrono::milliseconds(300);
  const Verdict verdict = verdict_on_file(104, kRoot / "tests/judge/wrong/104_hangs.cpp", options);
  CHECK(verdict.outcomes[2].sign == sign::kHang);
  CHECK(verdict.outcomes[3].sign == sign::kSkipped);
}

}  // namespace ringcraft::judge
