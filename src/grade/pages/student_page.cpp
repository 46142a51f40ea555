// The page of one student: what does not hold yet comes first, with its place, a likely cause and a question.
#include <fmt/format.h>

#include <algorithm>

#include "grade/pages/html.hpp"
#include "grade/pages/pages.hpp"
#include "grade/pages/rows.hpp"
#include "judge/puzzle/puzzle.hpp"
#include "ringcraft/core/shown.hpp"
#include "verify/report/error_map.hpp"

namespace ringcraft::grade {
namespace {

using verify::ErrorMap;
using verify::ReportRow;
using verify::Status;

// See verify/oracle/cases.hpp and case_table.cpp for the names of cases.
constexpr const char* kLegend =
    "<details><summary>How cases are named</summary>\n"
    "<p class=\"dim\"><code>n=3 zigzag causal s=97 h=8/2 d=16 hot</code>: 3 ranks, the layout, the mask, 97 "
    "tokens, 8 query heads and 2 KV heads, 16 numbers per head, and the scores: normal (about 1), hot "
    "(beyond "
    "88 and -88), negative (all below -88), gap (the keys of one block 88 above all others), peaked (few "
    "keys "
    "dominate) or huge (thousands). Ranks, rows and columns count from 0.</p>\n</details>\n";

std::string square(char sign) {
  return fmt::format("<i class=\"s{}\"></i>", sign == '.' ? "" : sign == 'n' ? " n" : " x");
}

// For each rank how many of its rows are wrong, and a line of squares.
std::string map_of(const ErrorMap& map) {
  std::string markup;
  for (std::size_t rank = 0; rank < map.ranks.size(); ++rank) {
    const std::string& rows = map.ranks[rank];
    const auto wrong = static_cast<Index>(rows.size()) - std::ranges::count(rows, '.');
    markup += fmt::format("<span>{}{}: {} of {}</span><div class=\"signs\">", escaped(map.tensor),
                          map.ranks.size() > 1 ? fmt::format(", rank {}", rank) : "", wrong,
                          counted(rows.size(), "row"));
    for (const char sign : verify::shortened(rows)) markup += square(sign);
    markup += "</div>\n";
  }
  return markup;
}

std::string maps_of(const std::vector<ErrorMap>& maps) {
  if (maps.empty()) return "";
  std::string markup = "<figure>\n<div class=\"map\">\n";
  for (const ErrorMap& map : maps) markup += map_of(map);
  const bool shortened = std::ranges::any_of(maps, verify::is_shortened);
  return markup + fmt::format(
                      "</div>\n<figcaption>Rows that are wrong. {} right, {} wrong, {} no "
                      "number{}</figcaption>\n</figure>\n",
                      square('.'), square('x'), square('n'),
                      shortened ? "; a square stands for several rows, and shows the worst" : "");
}

std::string causes_of(const ReportRow& row) {
  std::string markup;
  for (const verify::Cause& cause : row.causes) {
    markup += fmt::format("<div class=\"cause\"><p><b>{}:</b> {}</p>",
                          &cause == row.causes.data() ? "Likely"
                          : cause.also                ? "And"
                                                      : "Or",
                          escaped(cause.sentence));
    if (const auto question = verify::new_question(row, cause); !question.empty())
      markup += fmt::format("<p class=\"question\">{}</p>", escaped(question));
    markup += "</div>\n";
  }
  if (row.unexplained)
    markup +=
        "<div class=\"cause\"><p>No known mistake gives these numbers: go by the first wrong "
        "place.</p></div>\n";
  return markup;
}

std::string figures_of(const ReportRow& row) {
  std::string markup;
  for (const verify::Figure& figure : row.figures)
    markup += "<li>" + escaped(verify::text_of(figure)) + "</li>";
  return markup.empty() ? "" : "<ul class=\"dim\">" + markup + "</ul>\n";
}

// "104.identity, 0 of 3 points"
std::string place_of(const ReportRow& row) {
  const double points = row.status == Status::kPassed ? row.weight : 0;
  return escaped(row.id) +
         (row.weight > 0 ? fmt::format(", {} of {}", points_text(points), counted_points(row.weight)) : "");
}

// `first`: the check with the likely cause, which may be that of this one, too; null if there is none.
std::string failed_check(const ReportRow& row, const ReportRow* first) {
  std::string markup = fmt::format(
      "<article class=\"check failed\">\n<h3>{}</h3>\n<p class=\"meta\"><b>does not hold yet</b>, {}</p>\n",
      escaped(row.claim), place_of(row));
  markup += paragraphs(row.sentence) + paragraphs(row.remark) + maps_of(row.maps) + causes_of(row);
  if (!row.hint.empty())
    markup +=
        fmt::format("<div class=\"cause\"><p><b>{}:</b> {}</p></div>\n",
                    first == nullptr ? "Try next" : "If it still fails when " + escaped(first->id) + " holds",
                    escaped(row.hint));
  return markup + figures_of(row) + "</article>\n";
}

std::string folded(const std::vector<ReportRow>& rows, const std::string& summary) {
  if (rows.empty()) return "";
  std::string markup = "<details><summary>" + escaped(summary) + "</summary>\n<ul>\n";
  for (const ReportRow& row : rows) {
    markup += fmt::format("<li>{} <span class=\"dim\">{}</span>", escaped(row.claim), place_of(row));
    markup +=
        paragraphs(row.status == Status::kSkipped ? row.sentence : row.remark) + figures_of(row) + "</li>\n";
  }
  return markup + "</ul>\n</details>\n";
}

std::string checks_of(const verify::Report& report) {
  std::string failed;
  std::vector<ReportRow> passed, skipped;
  double earned = 0, open = 0;
  const ReportRow* first = nullptr;
  for (const ReportRow& each : report.rows) {
    const ReportRow row = shown_row(each);
    if (row.status == Status::kFailed) failed += failed_check(row, row.causes.empty() ? first : nullptr);
    if (first == nullptr && !row.causes.empty()) first = &each;
    if (row.status == Status::kPassed) passed.push_back(row), earned += row.weight;
    if (row.status == Status::kSkipped) skipped.push_back(row), open += row.weight;
  }
  return failed +
         folded(skipped, fmt::format("{} not tried, {}: each waits for one that does not hold yet",
                                     counted(skipped.size(), "check"), counted_points(open))) +
         folded(passed,
                fmt::format("{} passed, {}", counted(passed.size(), "check"), counted_points(earned)));
}

std::string attempts_of(const Result& result) {
  if (result.attempts.size() < 2) return "";
  std::string markup = fmt::format(
      "<p>Attempt {} of {} counts: it has the most points.</p>\n"
      "<details><summary>All attempts</summary>\n<ol>\n",
      result.best + 1, result.attempts.size());
  for (std::size_t i = 0; i < result.attempts.size(); ++i) {
    const Record& record = result.attempts[i];
    markup += fmt::format("<li>{}: {}{}{}</li>\n", isolated(record.name),
                          record.state == State::kGraded ? counted_points(record.report.points())
                                                         : std::string(name_of(record.state)),
                          record.late ? ", late" : "", i == result.best ? " <b>(counts)</b>" : "");
  }
  return markup + "</ol>\n</details>\n";
}

std::string notice_of(const Record& record) {
  std::string markup = "<div class=\"notice\"><p>" + escaped(explained(record.state)) + "</p>\n";
  if (record.report.count(Status::kFailed) == 0) markup += paragraphs(record.sentence);  // else a row says it
  return markup + "</div>\n";
}

// "7 of 16", or "ungradable"
std::string score_of(const Result& result, double all) {
  return result.state() == State::kGraded
             ? fmt::format("{} of {}", points_text(result.points()), points_text(all))
             : std::string(name_of(result.state()));
}

std::string section_of(const Exercise& exercise, const Result& result, double all_points, bool passed_over) {
  std::string markup =
      fmt::format("<section class=\"exercise\" id=\"{}\">\n<h2>{}<span>{}</span></h2>\n",
                  anchor_of(exercise.id), escaped(heading_of(exercise)), score_of(result, all_points));
  const Record* const record = result.counted();
  if (record == nullptr)
    return markup +
           fmt::format("<p class=\"dim\">{} It is to be called <code>{}</code>.{}</p>\n</section>\n",
                       escaped(explained(State::kMissing)), escaped(exercise.folder + "/" + exercise.file),
                       passed_over ? " Files that were passed over stand at the end of this page." : "");
  markup += "<p class=\"dim\">" + isolated(record->name) + "</p>\n";
  if (record->late)
    markup += fmt::format("<p>Handed in late.{}</p>\n",
                          result.best_on_time() == nullptr
                              ? ""
                              : fmt::format(" The best of those on time has {}.",
                                            counted_points(result.best_on_time()->report.points())));
  markup += attempts_of(result);
  if (record->state != State::kGraded) markup += notice_of(*record);
  if (record->report.count(Status::kFailed) > 0)
    markup += fmt::format(
        "<p class=\"dim\">{}At home <code>./ringcraft check {}</code> runs the same checks{}.</p>\n",
        record->report.count(Status::kFailed) > 1 ? "Begin with the first: others may follow from it. " : "",
        escaped(exercise.id), judge::is_puzzle(exercise.id) ? "" : ", on inputs of their own");
  return markup + checks_of(record->report) + "</section>\n";
}

std::string overview(const ClassResults& results, const StudentResults& student) {
  std::string rows;
  for (std::size_t i = 0; i < results.exercises.size(); ++i) {
    const Result& result = student.results[i];
    const double all = results.all_points[i];
    rows += fmt::format("<tr><td><a href=\"#{}\">{}</a></td><td>{}</td><td class=\"num\">{}</td></tr>\n",
                        anchor_of(results.exercises[i].id), escaped(heading_of(results.exercises[i])),
                        bar(result.points(), all, "good"), score_of(result, all));
  }
  return "<table class=\"pictures\"><tbody>\n" + rows + "</tbody></table>\n";
}

}  // namespace

std::string student_page(const ClassResults& results, const StudentResults& student) {
  std::string body = fmt::format(
      "<header>\n<p class=\"over\">{}, <code>{}</code></p>\n<h1>{}</h1>\n<p class=\"lead\">{} of {} "
      "points</p>\n"
      "<p class=\"dim\">Each exercise begins with what does not hold yet: what was found, where, and what to "
      "look at. "
      "All inputs were new ones.</p>\n</header>\n",
      isolated(results.title), escaped(student.key), isolated(name_of(student, 400)),
      points_text(student.points()), points_text(results.points()));
  body += overview(results, student);
  for (std::size_t i = 0; i < results.exercises.size(); ++i)
    body +=
        section_of(results.exercises[i], student.results[i], results.all_points[i], !student.remarks.empty());
  if (!student.remarks.empty()) {
    body += "<section class=\"exercise\">\n<h2>Files that were passed over</h2>\n<ul>\n";
    for (const std::string& remark : student.remarks) body += "<li>" + isolated(remark) + "</li>\n";
    body += "</ul>\n</section>\n";
  }
  return framed(name_of(student) + ", " + results.title, body + kLegend);
}

}  // namespace ringcraft::grade
