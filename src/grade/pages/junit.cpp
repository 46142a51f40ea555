// A class as JUnit XML. No CDATA: every text is escaped, and "]]>" is text like any other.
#include <fmt/format.h>

#include "grade/pages/html.hpp"
#include "grade/pages/pages.hpp"
#include "grade/pages/rows.hpp"
#include "ringcraft/core/shown.hpp"

namespace ringcraft::grade {
namespace {

using verify::ReportRow;
using verify::Status;

// HTML's marks are XML's, too. A parser makes blanks of the line ends of an attribute.
std::string xml(std::string_view text) {
  return replaced(replaced(escaped(text), "\n", "&#10;"), "\t", "&#9;");
}

// The test cases of a suite, and what a suite says of them.
struct Suite {
  int tests = 0, failures = 0, errors = 0, skipped = 0;
  std::string cases;

  void add(const Exercise& exercise, const std::string& name, const std::string& inside) {
    ++tests;
    cases += fmt::format("    <testcase classname=\"{}\" name=\"{}\">{}</testcase>\n",
                         xml(heading_of(exercise)), xml(name), inside);
  }
  void add(const Exercise& exercise, const ReportRow& row) {
    std::string inside;
    if (row.status == Status::kFailed)
      inside = fmt::format("<failure type=\"{}\" message=\"{}\">{}</failure>",
                           xml(row.code.empty() ? "failed" : row.code), xml(first_lines(row.sentence, 1)),
                           xml(verify::text_of(row)));
    if (row.status == Status::kSkipped) inside = fmt::format("<skipped message=\"{}\"/>", xml(row.sentence));
    failures += row.status == Status::kFailed ? 1 : 0;
    skipped += row.status == Status::kSkipped ? 1 : 0;
    add(exercise, row.id + ": " + row.claim, inside);
  }
  void add(const Exercise& exercise, const Result& result) {
    const State state = result.state();
    if (state == State::kGraded) {
      for (const ReportRow& row : result.counted()->report.rows) add(exercise, shown_row(row));
    } else if (state == State::kMissing) {
      ++skipped;
      add(exercise, exercise.id, fmt::format("<skipped message=\"{}\"/>", xml(explained(state))));
    } else {
      ++errors;
      add(exercise, exercise.id,
          fmt::format("<error type=\"{}\" message=\"{}\">{}</error>", name_of(state), xml(explained(state)),
                      xml(why_ungradable(*result.counted()))));
    }
  }
  std::string counts() const {
    return fmt::format("tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\"", tests, failures, errors,
                       skipped);
  }
  void operator+=(const Suite& suite) {
    tests += suite.tests, failures += suite.failures, errors += suite.errors, skipped += suite.skipped;
  }
};

}  // namespace

std::string junit_xml(const ClassResults& results) {
  Suite all;
  std::string suites;
  for (const StudentResults& student : results.students) {
    Suite suite;
    for (std::size_t i = 0; i < results.exercises.size(); ++i)
      suite.add(results.exercises[i], student.results[i]);
    all += suite;
    suites += fmt::format(
        "  <testsuite name=\"{}\" {}>\n    <properties><property name=\"name\" value=\"{}\"/>"
        "<property name=\"points\" value=\"{}\"/></properties>\n{}  </testsuite>\n",
        xml(student.key), suite.counts(), xml(student.name), points_text(student.points()), suite.cases);
  }
  return fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"{}\" {}>\n{}</testsuites>\n",
      xml(results.title), all.counts(), suites);
}

}  // namespace ringcraft::grade
