// Pages and tables about a class: what they teach, what they keep to themselves, and that they are the same
// each time.
#include "grade/pages/pages.hpp"

#include <limits>
#include <nlohmann/json.hpp>

#include "grade/example_class.hpp"
#include "grade/pages/html.hpp"
#include "grade/pages/rows.hpp"
#include "grade/pages/tally.hpp"
#include "ringcraft/core/shown.hpp"
#include "support/catch.hpp"

namespace ringcraft::grade {
namespace {

using verify::ReportRow;
using verify::Status;

// Everything about a class, one after the other.
std::string all_of(const ClassResults& results) {
  std::string text = class_page(results) + gradebook_csv(results) + junit_xml(results) + json_of(results);
  for (const StudentResults& student : results.students)
    text += student_page(results, student) + gradescope_json(results, student);
  return text;
}

bool holds(const std::string& text, const std::string& words) {
  return text.find(words) != std::string::npos;
}

std::size_t times(const std::string& text, const std::string& words) {
  std::size_t count = 0;
  for (std::size_t at = text.find(words); at != std::string::npos; at = text.find(words, at + 1)) ++count;
  return count;
}

// The class, with another value of a figure: rows 3 and 4 of this file have one, that of row 3 is a time.
ClassResults with_figure(std::size_t row, double value) {
  ClassResults results = example_class();
  ReportRow& changed = results.students[0].results[1].attempts[0].report.rows[row];
  REQUIRE(changed.timed == (row == 3));
  changed.figures.at(0).value = value;
  return results;
}

// The first cell of the gradebook's second row, with this name.
std::string name_cell(const std::string& name) {
  ClassResults results{"", {}, {}, {{"key", name, {}, {}}}, {}};
  const std::string csv = gradebook_csv(results), row = csv.substr(csv.find("\r\n") + 2);
  return row.substr(6, row.rfind(",\"\",0,") - 6);
}

ReportRow failed(std::vector<verify::Cause> causes) {
  ReportRow row{.id = "104.a", .claim = "A claim.", .status = Status::kFailed};
  row.causes = std::move(causes);
  return row;
}

Result graded_result(std::vector<ReportRow> rows) {
  Record record{.exercise = "104", .name = "merge.cpp", .digest = "1", .state = State::kGraded};
  record.report.rows = std::move(rows);
  return {{record}, 0};
}

}  // namespace

TEST_CASE("the pages of a class are the same to the byte, whatever a clock said") {
  CHECK(all_of(with_figure(3, 99)) == all_of(example_class()));
  CHECK(all_of(with_figure(4, 99)) != all_of(example_class()));
}

TEST_CASE("a student's page has no seed and nothing of another student") {
  const ClassResults results = example_class();
  ClassResults alone = results;
  alone.students = {results.students[3]}, alone.alike = {}, alone.remarks = {};
  CHECK(student_page(results, results.students[3]) == student_page(alone, results.students[3]));
  CHECK(gradescope_json(results, results.students[3]) == gradescope_json(alone, results.students[3]));
  CHECK(!holds(student_page(results, results.students[3]), "8123456789012345678"));
  CHECK(!holds(gradescope_json(results, results.students[3]), "8123456789012345678"));
  CHECK(holds(json_of(results), "8123456789012345678"));
}

TEST_CASE("no two pairs of texts share a page") {
  CHECK(alike_file({"104", "a", "b_c"}) != alike_file({"104", "a_b", "c"}));
  CHECK(holds(class_page(example_class()), "<a href=\"alike/104+emmy+html.html\">93 %, side by side</a>"));
}

TEST_CASE("a text is no markup, no escape and no turned order of letters") {
  CHECK(escaped("<a href=\"x\" b='y'>&amp;") == "&lt;a href=&quot;x&quot; b=&#39;y&#39;&gt;&amp;amp;");
  CHECK(escaped("\x1b[31m\xFF \xE2\x80\xAE \xEF\xBF\xBF") == "?[31m? ??? ?");
  CHECK(paragraphs("one\n<b>two") == "<p>one</p>\n<pre>&lt;b&gt;two</pre>\n");
  const ClassResults results = example_class();
  for (const std::string& page : {class_page(results), student_page(results, results.students[6]),
                                  student_page(results, results.students[1]), junit_xml(results)}) {
    CHECK(!holds(page, "<script"));
    CHECK(!holds(page, "]]>"));
    CHECK(page.find_first_of("\x1b\r\x07") == std::string::npos);
    CHECK(!holds(page, "\xE2\x80\xAE"));
  }
}

TEST_CASE("a spreadsheet computes no cell of a gradebook") {
  for (const char* const name : {"=1+1", "+1", "-1", "@SUM(A1)", " =1", "  +1", "＝1", "＋1", "－1", "＠A"})
    CHECK(name_cell(name) == "\"'" + std::string(name) + "\"");
  for (const char* const name : {"\t=1", "\r=1", "\n=1"}) CHECK(name_cell(name) == "\"?=1\"");
  CHECK(name_cell("a;=1,\"b\"") == "\"a;=1,\"\"b\"\"\"");
  CHECK(name_cell("Ada - Lovelace") == "\"Ada - Lovelace\"");
}

TEST_CASE("only graded files have a number in the gradebook") {
  const ClassResults results = example_class();
  const std::string csv = gradebook_csv(results);
  CHECK(csv.starts_with("\"student\",\"name\",\"id\",\"104 Merge (12)\""));
  CHECK(holds(csv, "\"ada\",\"Ada Lovelace\",\"\",8,"));
  CHECK(holds(csv, ",\"104 late\"\r\n"));
  CHECK(holds(csv, ",12,6,,12,6,12,48,12,\"106 ungradable\"\r\n"));
  CHECK(holds(csv, ",\"sum (72)\",\"104 on time\",\"notes\"\r\n"));
  CHECK(holds(csv, ",8,7.5,12,6,4,12,49.5,6,\"104 late\"\r\n"));  // the late one has 8, the best on time 6
}

TEST_CASE(
    "a group has a row of the gradebook for each of its people, with the ids that they have elsewhere") {
  ClassResults results = example_class();
  results.students[0].people = {{"Ada Lovelace", "s123"}, {"Wei Zhang", "=wei@example.com"}};
  const std::string csv = gradebook_csv(results);
  CHECK(holds(csv, "\"ada\",\"Ada Lovelace\",\"s123\",8,"));
  CHECK(holds(csv, "\"ada\",\"Wei Zhang\",\"'=wei@example.com\",8,"));
}

TEST_CASE("the words of the compiler about a file stand in every report of its student") {
  ClassResults results = example_class();
  Record record{.exercise = "104", .name = "merge.cpp", .digest = "1", .state = State::kUngradable};
  record.sentence = "merge.cpp does not compile";
  record.report.rows.push_back({.id = "104.compiles",
                                .claim = "The file compiles.",
                                .status = verify::Status::kFailed,
                                .sentence = "merge.cpp:15:65: error: expected ';' before 'if'"});
  results.students[0].results[0].attempts = {record};
  results.students[0].results[0].best = 0;
  for (const std::string& text :
       {gradescope_json(results, results.students[0]), student_page(results, results.students[0])}) {
    CHECK(holds(text, "15:65: error: expected"));
    CHECK(holds(text, "mend what is said below, or ask"));
  }
  CHECK(holds(junit_xml(results), "15:65: error: expected"));
}

TEST_CASE("the class page names files that call what no exercise needs, also of attempts that do not count") {
  ClassResults results = example_class();
  CHECK(!holds(class_page(results), "Worth a look"));
  results.students[0].results[0].attempts[2].report.rows.push_back(
      {.id = "104.belongs",
       .claim = "c",
       .status = Status::kPassed,
       .remark = "your file calls kill, which <b>"});
  const std::string page = class_page(results);
  CHECK(holds(page, "Worth a look"));
  CHECK(holds(page, "your file calls kill, which &lt;b&gt;"));
}

TEST_CASE("a student's page shows what failed, and folds what was passed or not tried") {
  const ClassResults results = example_class();
  const std::string page = student_page(results, results.students[0]);
  std::size_t wrong = 0;
  for (const Result& result : results.students[0].results)
    wrong += static_cast<std::size_t>(result.counted()->report.count(Status::kFailed));
  CHECK(wrong > 2);
  CHECK(times(page, "<article class=\"check failed\">") == wrong);
  CHECK(holds(page, "Attempt 2 of 3 counts"));
  CHECK(holds(page, "Handed in late."));
  CHECK(!holds(page, "costs"));  // that is the instructor's to say
  CHECK(holds(page, "<code>./ringcraft check 104</code>"));
  CHECK(holds(page, "<span>out, rank 1: 9 of 12 rows</span>"));
  CHECK(holds(page, "<b>Likely:</b> the block in hand at step t is taken for that of rank + t"));
  CHECK(holds(page, "<b>And:</b> the mask is applied to local positions"));
  CHECK(holds(page, "<b>Or:</b> the first step is left out"));
  const std::size_t skipped = page.find("1 check not tried, 2.5 points: each waits");
  REQUIRE(skipped != std::string::npos);
  CHECK(page.find("Both parts are rescaled to the new maximum.") > skipped);
}

TEST_CASE("Gradescope's results name the layers that are missing, and none where all are here") {
  ClassResults results = example_class();
  for (Layer& layer : results.layers) layer.here = true;
  CHECK(!holds(gradescope_json(results, results.students[0]), "layers missing here"));
  results.layers = {{"files", "", true, ""}, {"namespaces", "", false, ""}, {"user", "", false, ""}};
  const std::string json = gradescope_json(results, results.students[0]);
  CHECK(holds(json, "layers missing here: namespaces, user\""));
  CHECK(holds(json, "\"visibility\": \"hidden\""));  // to students
}

TEST_CASE("files of other names are told beside an exercise that has none") {
  ClassResults results = example_class();
  results.students[0].results[0].attempts.clear();
  CHECK(!holds(student_page(results, results.students[0]), "passed over stand at the end"));
  results.students[0].remarks = {"Merge_final.cpp is no file of these exercises"};
  CHECK(holds(student_page(results, results.students[0]), "passed over stand at the end"));
  CHECK(holds(gradebook_csv(results), "104 missing; 1 file passed over"));
  CHECK(holds(gradescope_json(results, results.students[0]),
              "No file of this exercise was found. It is to be called"));
}

TEST_CASE("files of one name that several students have, and that are passed over, are one line") {
  ClassResults results = example_class();
  for (const std::size_t student : {0, 1, 2}) {
    results.students[student].results[0].attempts.clear();
    results.students[student].remarks = {student == 2 ? "b.pdf is no file of these exercises"
                                                      : "a.pdf is no file of these exercises"};
  }
  std::string page = class_page(results);
  page = page.substr(page.find("Needs a person"));
  page = page.substr(0, page.find("</section>"));
  CHECK(times(page, "a.pdf is no file") == 1);
  CHECK(times(page, "b.pdf is no file") == 1);
  const std::size_t row = page.find("a.pdf is no file"), first = page.rfind("<tr>", row);
  CHECK(times(page.substr(first, row - first), "<a href=") == 2);
}

TEST_CASE("a hint of a check after the one with the cause waits for that one") {
  ClassResults results{"", {{"104", "Merge", "104_merge", "merge.cpp"}}, {3}, {}, {}};
  ReportRow first{
      .id = "104.first", .claim = "f", .status = Status::kFailed, .weight = 1, .hint = "look here"};
  ReportRow second = first;
  second.id = "104.second";
  results.students.push_back({"ada", "Ada", {}, {graded_result({first, second})}});
  CHECK(times(student_page(results, results.students[0]), "<b>Try next:</b> look here") == 2);
  auto& rows = results.students[0].results[0].attempts[0].report.rows;
  rows[0].causes = {{"A", "a", "q"}, {"B", "b", "q"}};
  const std::string page = student_page(results, results.students[0]);
  CHECK(times(page, "<b>Try next:</b> look here") == 1);
  CHECK(holds(page, "<b>If it still fails when 104.first holds:</b> look here"));
  CHECK(times(page, "<p class=\"question\">q</p>") == 1);  // one question is asked once
}

TEST_CASE("a file that does not compile counts among those that fail in that check, and in no other") {
  ClassResults results{"", {{"104", "Merge", "104_merge", "merge.cpp"}}, {3}, {}, {}};
  ReportRow row{.id = "104.compiles", .claim = "c", .status = Status::kFailed};
  ReportRow other{.id = "104.other", .claim = "o", .status = Status::kSkipped, .weight = 1};
  results.students.push_back({"ada", "Ada", {}, {graded_result({row, other})}});
  results.students[0].results[0].attempts[0].state = State::kUngradable;
  const Tally tally = tally_of(results);
  REQUIRE(tally.checks.size() == 1);
  CHECK(tally.checks[0].failed.size() == 1);
  const std::string page = class_page(results);
  CHECK(holds(page, "1 of 1 failed"));
  CHECK(holds(page, "<td><b>–</b></td>"));  // no verdict, no sum
}

TEST_CASE("one point is no points") {
  CHECK(counted_points(1) == "1 point");
  CHECK(counted_points(0) == "0 points");
  CHECK(counted_points(2.5) == "2.5 points");
}

TEST_CASE("a file that cannot be judged is no wrong answer") {
  const ClassResults results = example_class();
  const std::string page = student_page(results, results.students[2]);
  CHECK(holds(page, "That is no wrong answer: mend what is said below, or ask."));
  CHECK(holds(page, "the file is a symbolic link, and links are not followed"));
  CHECK(times(class_page(results), "<td class=\"state\">") == 3);
  CHECK(times(junit_xml(results), "<error ") == 3);
}

TEST_CASE("a program's words do not push the hint out of sight") {
  const ClassResults results = example_class();
  const std::string grace = gradescope_json(results, results.students[5]);
  CHECK(grace.size() < 40'000);
  CHECK(holds(grace, "... (cut)"));
  CHECK(holds(grace, "hint: How long is the last tile?"));
  CHECK(holds(json_of(results), std::string(9000, '#')));  // the record itself keeps them
}

TEST_CASE("the likeliest causes are counted, once for each student and exercise") {
  const verify::Cause first{"A", "a", ""}, also{"B", "b", "", true}, other{"C", "c", ""};
  ClassResults results{"", {{"104", "Merge", "", ""}, {"105", "Tiles", "", ""}}, {1, 1}, {}, {}};
  results.students.push_back(
      {"ada",
       "",
       {},
       {graded_result({failed({first, also, other}), failed({first})}), graded_result({failed({first})})}});
  results.students.push_back(
      {"bob", "", {}, {graded_result({failed({also})}), graded_result({failed({also})})}});
  results.students.push_back({"eve", "", {}, {graded_result({failed({first})}), Result{}}});
  results.students[2].results[0].attempts[0].state = State::kUngradable;
  const Tally tally = tally_of(results);
  REQUIRE(tally.causes.size() == 2);
  CHECK(tally.causes[0].id == "B");
  CHECK(tally.causes[0].students.size() == 2);
  CHECK(tally.causes[0].of_exercise == std::vector<int>{2, 1});
  CHECK(tally.causes[1].of_exercise == std::vector<int>{1, 1});
  CHECK(tally.causes[1].students.size() == 1);
  REQUIRE(tally.checks.size() == 2);
  CHECK(tally.checks[1].failed.size() == 2);
}

TEST_CASE("a number that is none is null in the report of a class") {
  const auto report = [](const ClassResults& results) {
    return nlohmann::json::parse(json_of(results))["students"][0]["results"][1]["attempts"][0]["report"];
  };
  const auto figures = [&](std::size_t row) {
    return report(with_figure(row, std::numeric_limits<double>::infinity()))["rows"][row]["figures"];
  };
  CHECK(figures(4).at(0).at("value").is_null());
  CHECK(figures(3).empty());  // a time
}

}  // namespace ringcraft::grade
