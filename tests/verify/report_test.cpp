// One report, two renderings.
#include "verify/report/report.hpp"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "support/catch.hpp"
#include "verify/report/screen.hpp"

namespace ringcraft::verify {
namespace {

Report sample() {
  return {"lesson 104",
          {{"104.identity",
            "merging with the identity changes nothing",
            Status::kPassed,
            2,
            "held in 40 cases",
            "",
            {}},
           {"104.rescale",
            "both sides follow the larger maximum",
            Status::kFailed,
            3,
            "row 2: got 0.5,\nexpected 0.25",
            "Which maximum was l summed against?",
            {{"largest error", 0.25, {}, ""}, {"bytes", 64, 64.0, "B"}}},
           {"104.gpu", "the kernel agrees", Status::kSkipped, 1, "no GPU on this machine", "", {}}}};
}

TEST_CASE("a report is good if nothing failed and something passed") {
  Report report = sample();
  CHECK_FALSE(report.good());
  CHECK(report.points() == 2);
  CHECK(report.all_points() == 6);
  report.rows.erase(report.rows.begin() + 1);
  CHECK(report.good());
  report.rows.erase(report.rows.begin());
  CHECK_FALSE(report.good());  // only skipped rows are left
  CHECK_FALSE(Report{}.good());
}

TEST_CASE("the text is aligned and explains the rows that did not pass") {
  CHECK(text_of(sample()) ==
        "lesson 104\n"
        "  passed   104.identity  merging with the identity changes nothing\n"
        "  failed   104.rescale   both sides follow the larger maximum\n"
        "                         row 2: got 0.5,\n"
        "                         expected 0.25\n"
        "                         hint: Which maximum was l summed against?\n"
        "                         largest error: 0.25\n"
        "                         bytes: 64 B (theory 64 B)\n"
        "  skipped  104.gpu       the kernel agrees\n"
        "                         no GPU on this machine\n"
        "1 passed, 1 failed, 1 skipped; 2 of 6 points\n");
  CHECK(text_of(sample()).find('\x1b') == std::string::npos);
  CHECK(text_of(sample(), Colour::kTerminal).find("\x1b[31mfailed") != std::string::npos);
}

TEST_CASE("in brief, the first failure is whole, and every other row is a name or a line") {
  Report report = sample();
  report.rows[0].remark = "with warnings:\n1\n2\n3\n4\n5\n6";
  report.rows.push_back({"104.order", "either order", Status::kFailed, 1, "row 1: got 2", "Swap them.", {}});
  report.seed = 7;
  const BriefText brief = brief_text_of(report);
  CHECK(brief.first ==
        "lesson 104\n"
        "  passed   104.identity  merging with the identity changes nothing\n"
        "                         with warnings:\n"
        "                         1\n"
        "                         2\n"
        "                         3\n"
        "                         4\n"
        "                         5\n"
        "                         ...\n"
        "  failed   104.rescale   both sides follow the larger maximum\n"
        "                         row 2: got 0.5,\n"
        "                         expected 0.25\n"
        "                         hint: Which maximum was l summed against?\n"
        "                         largest error: 0.25\n"
        "                         bytes: 64 B (theory 64 B)\n");
  CHECK(brief.others == "  failed   104.order     either order\n");
  CHECK(brief.rest ==
        "  skipped  gpu\n"
        "  passed   identity\n"
        "1 passed, 2 failed, 1 skipped; 2 of 7 points\n"
        "the same numbers again: --seed 7\n");
  std::erase_if(report.rows, [](const ReportRow& row) { return row.status == Status::kFailed; });
  report.rows.front().remark.clear();
  CHECK(brief_text_of(report).first == "lesson 104\n");
  CHECK(brief_text_of(report).rest ==
        "  skipped  gpu\n"
        "  passed   identity\n"
        "1 passed, 0 failed, 1 skipped; 2 of 3 points\n"
        "the same numbers again: --seed 7\n");
}

TEST_CASE("a cause that holds besides another one is no alternative to it") {
  Report report = sample();
  report.rows[1].causes = {{"a", "one", "?"}, {"b", "two", "?", true}, {"c", "three", "?"}};
  const std::string text = text_of(report);
  INFO(text);
  CHECK(text.find("likely: one\n") != text.npos);
  CHECK(text.find("and:    two\n") != text.npos);
  CHECK(text.find("or:     three\n") != text.npos);
}

TEST_CASE("a screen begins with causes and places, and holds the rest as far as it can") {
  Report report{"claim", {}, {}};
  for (const char* name : {"out", "lse", "dq", "dk", "dv"}) {
    ReportRow row{name, std::string(name) + " is attention's", Status::kFailed, 1, "9 of 9 elements wrong"};
    row.maps = {{name, std::vector<std::string>(16, std::string(24, 'x'))}};
    row.figures = {{"largest error", 0.25, {}, ""}, {"share", 4, {}, ""}};
    row.causes = {{"a", std::string("cause of ") + name, "?"}};
    if (row.id == "out" || row.id == "dq")
      report.rows.push_back(row);
    else
      report.rows.push_back(row), report.rows.back().causes.clear();
  }
  const std::string text = screen_text_of(report, {"first wrong: rank 0", ""}, Colour::kPlain);
  INFO(text);
  CHECK(std::ranges::count(text, '\n') <= std::ptrdiff_t{kScreen});
  CHECK(
      text.starts_with("claim\nlikely: cause of out\n        ?\nand:    cause of dq\n        ?\n"
                       "first wrong: rank 0\nrows of each rank"));
  CHECK(text.find("(the JSON has those of other tensors)\n") != text.npos);
  CHECK(text.find("  failed   dv   9 of 9 elements wrong; largest error: 0.25\n") != text.npos);
}

TEST_CASE("a screen says once which tensors no mistake explains") {
  Report report{"claim", {}, {}};
  for (const char* name : {"out", "dq", "dk"})
    report.rows.push_back({.id = name, .status = Status::kFailed, .unexplained = true});
  constexpr auto kSaid = "no known mistake gives ";
  std::string text = screen_text_of(report, {}, Colour::kPlain);
  CHECK(text.starts_with(std::string("claim\n") + kSaid + "these numbers: go by"));
  CHECK(text.find(kSaid) == text.rfind(kSaid));
  report.rows[0].unexplained = false;
  report.rows[0].causes = {{"a", "one", "?"}};
  text = screen_text_of(report, {}, Colour::kPlain);
  CHECK(text.find(kSaid + std::string("the numbers of dq, dk: go by")) != text.npos);
  CHECK(text.find(kSaid) == text.rfind(kSaid));
}

TEST_CASE("the JSON holds everything, for any bytes of a sentence") {
  Report report = sample();
  report.rows[1].sentence = "printed \xff\xfe";
  report.rows[1].figures[0].value = std::numeric_limits<double>::quiet_NaN();
  const auto json = nlohmann::json::parse(json_of(report));
  CHECK(json.at("good") == false);
  CHECK(json.at("points") == 2);
  CHECK(json.at("rows").size() == 3);
  CHECK(json["rows"][0]["status"] == "passed");
  CHECK(json["rows"][1]["hint"] == "Which maximum was l summed against?");
  CHECK(json["rows"][1]["figures"][0]["value"].is_null());
  CHECK(json["rows"][1]["figures"][0]["theory"].is_null());
  CHECK(json["rows"][1]["figures"][1]["theory"] == 64.0);
}

}  // namespace
}  // namespace ringcraft::verify
