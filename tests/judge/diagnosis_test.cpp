// The causes of verdicts: their place in a report, and their independence of the seed.
#include "judge/verdict/diagnosis.hpp"

#include <filesystem>

#include "misconceptions/edit.hpp"
#include "support/catch.hpp"
#include "support/effort.hpp"

namespace ringcraft::judge {
namespace {

const std::filesystem::path kCorpus = std::filesystem::path(RINGCRAFT_SOURCE_DIR) / "tests/misconceptions";

// "303.causal RF4" for every cause of a wrong file.
std::vector<std::string> causes_of(int lesson, const std::string& file, std::uint64_t seed) {
  const HandedIn submission(lesson, kCorpus / file);
  CheckOptions options;
  options.seed = seed;
  std::vector<std::string> found;
  for (const verify::ReportRow& row : check(lesson, submission.file(), options).report.rows)
    for (const verify::Cause& cause : row.causes) found.push_back(row.id + " " + cause.id);
  return found;
}

}  // namespace

TEST_CASE("causes do not depend on the seed") {
  for (const auto& [lesson, file, id] :
       {std::tuple{101, "101_dense_attention/no_scale", "BL5"},
        {102, "102_safe_softmax/not_divided", "scan-finish"},
        {103, "103_online_softmax/factor_inverted", "scan-factor-inverse-sum"},
        {104, "104_merge/average", "solved-merge-O-acc"},
        {303, "303_ring_forward/wrong_label", "RF4"},
        {402, "402_token_layouts/turned_once", "solved-position"},
        {404, "404_sliding_window/w_keys", "solved-reach-mask"}}) {
    INFO(file);
    const std::vector<std::string> causes = causes_of(lesson, file, kSeedOfCorpus);
    REQUIRE(!causes.empty());
    CHECK(causes.front().ends_with(id));
    for (int k = 0; k < (testing::long_run() ? 20 : 1); ++k)
      CHECK(causes_of(lesson, file, 987654321 + static_cast<std::uint64_t>(k)) == causes);
  }
}

TEST_CASE("causes stand in the row of the first failed check, and a right file has none") {
  const HandedIn submission(303, kCorpus / "303_ring_forward/wrong_label");
  const Verdict verdict = check(303, submission.file(), {});
  const auto first =
      std::ranges::find(verdict.report.rows, verify::Status::kFailed, &verify::ReportRow::status);
  REQUIRE(first != verdict.report.rows.end());
  for (const verify::ReportRow& row : verdict.report.rows) CHECK(row.causes.empty() == (&row != &*first));
  for (const verify::ReportRow& row : check(303, original_file(303), {}).report.rows)
    CHECK(row.causes.empty());
}

}  // namespace ringcraft::judge
