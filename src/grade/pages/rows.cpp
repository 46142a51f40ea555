// Words and numbers that every rendering of a class needs.
#include "grade/pages/rows.hpp"

#include <fmt/format.h>

#include "ringcraft/core/shown.hpp"

namespace ringcraft::grade {
namespace {

constexpr std::size_t kMostWords = 4000;  // bytes of a sentence with the lines that a program printed

void cut_words(std::string& text) {
  std::string words = shown_lines(text, kMostWords);
  if (words.size() < text.size()) words += "\n... (cut)";
  text = std::move(words);
}

}  // namespace

verify::ReportRow shown_row(verify::ReportRow row) {
  if (row.timed) row.figures.clear();
  cut_words(row.sentence);
  cut_words(row.remark);
  return row;
}

std::string points_text(double points) { return fmt::format("{:g}", points); }

std::string counted_points(double points) {
  return points_text(points) + (points == 1 ? " point" : " points");
}

std::string heading_of(const Exercise& exercise) { return exercise.id + " " + exercise.title; }

std::string name_of(const StudentResults& student, std::size_t limit) {
  return shown(student.name.empty() ? student.key : student.name, limit);
}

std::string explained(State state) {
  switch (state) {
    case State::kMissing:
      return "No file of this exercise was found.";
    case State::kUngradable:
      return "This file cannot be judged as it is, so it has no points yet. That is no wrong answer: mend "
             "what "
             "is said below, or ask.";
    case State::kUnjudged:
      return "The judge did not come to an end. That is no fault of the file: it will be judged again.";
    case State::kGraded:
      break;
  }
  return "";
}

std::string why_ungradable(const Record& record) {
  std::string words = record.sentence;
  for (const verify::ReportRow& row : record.report.rows)
    if (row.status == verify::Status::kFailed) words += "\n" + verify::text_of(shown_row(row));
  return words;
}

}  // namespace ringcraft::grade
