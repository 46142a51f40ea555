// A gradebook as CSV, RFC 4180. A spreadsheet computes whatever begins like a formula, also between quotes.
#include <algorithm>
#include <cctype>
#include <charconv>

#include "grade/pages/pages.hpp"
#include "grade/pages/rows.hpp"
#include "ringcraft/core/shown.hpp"

namespace ringcraft::grade {
namespace {

// "=" and its like, in ASCII and in full width, after blanks that a spreadsheet may drop.
bool is_computed(std::string_view text) {
  const std::string_view begin = text.substr(std::min(text.find_first_not_of(' '), text.size()));
  constexpr std::string_view kSigns[] = {"=", "+", "-", "@", "＝", "＋", "－", "＠"};
  return std::ranges::any_of(kSigns, [=](std::string_view sign) { return begin.starts_with(sign); });
}

// In one line: tabs and line ends in it become '?', which no spreadsheet computes.
std::string cell(std::string_view text) {
  const std::string words = shown(text, 300);
  return "\"" + replaced((is_computed(words) ? "'" : "") + words, "\"", "\"\"") + "\"";
}

// "104 late; 301 ungradable": what a number does not say.
std::string notes_of(const ClassResults& results, const StudentResults& student) {
  std::string notes;
  for (std::size_t i = 0; i < results.exercises.size(); ++i) {
    const Result& result = student.results[i];
    for (const std::string& note :
         {result.state() == State::kGraded ? std::string() : std::string(name_of(result.state())),
          result.is_late() ? std::string("late") : std::string()})
      if (!note.empty()) notes += (notes.empty() ? "" : "; ") + results.exercises[i].id + " " + note;
  }
  if (!student.remarks.empty())  // one of them may be a missing file under another name
    notes += (notes.empty() ? "" : "; ") + counted(student.remarks.size(), "file") + " passed over";
  return notes;
}

// An empty cell is no zero: nothing was judged.
std::string points_cell(const Record* record) {
  return record != nullptr && record->state == State::kGraded ? points_text(record->report.points()) : "";
}

// The exercises that have a second column: of somebody a late attempt counts.
std::vector<std::size_t> with_late_ones(const ClassResults& results) {
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < results.exercises.size(); ++i)
    if (std::ranges::any_of(results.students, [=](const auto& each) { return each.results[i].is_late(); }))
      found.push_back(i);
  return found;
}

// The column of an exercise, by its heading or its id, also as Canvas calls it, "104 Merge (12345)", or
// Moodle, "Assignment: 104 Merge (Real)"; a new one if there is none.
std::size_t column_of(const std::vector<std::string>& head, const Exercise& exercise) {
  const auto found = std::ranges::find_if(head, [&](std::string_view name) {
    for (const std::string_view kind : {"Assignment: ", "Assignment:"})
      if (name.starts_with(kind)) name.remove_prefix(kind.size());
    if (name.ends_with(")")) name = name.substr(0, name.rfind(" ("));
    return name == heading_of(exercise) || name == exercise.id;
  });
  return static_cast<std::size_t>(found - head.begin());
}

bool is_number(std::string_view text) {
  double value = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  return failure == std::errc() && end == text.data() + text.size();
}

// A cell of a roster, with every byte that it had, except that a spreadsheet does not compute it: a sign is
// harmless where no letter follows, as in "-" and "+49 30 1".
std::string kept_cell(const std::string& text) {
  if (is_number(text)) return text;
  const bool has_sign = text.find_first_of("+-") == text.find_first_not_of(' ');
  const bool has_letter =
      std::ranges::any_of(text, [](unsigned char c) { return std::isalpha(c) || c == '('; });
  const bool computed = is_computed(text) && (!has_sign || has_letter);
  return "\"" + replaced((computed ? "'" : "") + text, "\"", "\"\"") + "\"";
}

std::string line_of(const std::vector<std::string>& cells, char separator) {
  std::string line;
  for (const std::string& each : cells)
    line += (&each == cells.data() ? "" : std::string(1, separator)) + kept_cell(each);
  return line + "\r\n";
}

// The graded attempt with the most points of these students in an exercise; null if there is none.
const Record* best_of(const ClassResults& results, const std::vector<std::size_t>& students, std::size_t i) {
  const Record* best = nullptr;
  for (const std::size_t s : students) {
    const Result& result = results.students[s].results[i];
    if (result.state() == State::kGraded && (best == nullptr || result.points() > best->report.points()))
      best = result.counted();
  }
  return best;
}

// A row for each member of a group.
std::vector<Person> people_of(const StudentResults& student) {
  return student.people.empty() ? std::vector<Person>{{student.name, ""}} : student.people;
}

}  // namespace

std::string gradebook_csv(const ClassResults& results) {
  const std::vector<std::size_t> late = with_late_ones(results);
  std::string csv = "\"student\",\"name\",\"id\"";
  for (std::size_t i = 0; i < results.exercises.size(); ++i)
    csv += "," + cell(heading_of(results.exercises[i]) + " (" + points_text(results.all_points[i]) + ")");
  csv += "," + cell("sum (" + points_text(results.points()) + ")");
  for (const std::size_t i : late) csv += "," + cell(results.exercises[i].id + " on time");
  csv += ",\"notes\"\r\n";
  for (const StudentResults& student : results.students) {
    std::string points;
    for (const Result& result : student.results) points += "," + points_cell(result.counted());
    points += "," + points_text(student.points());
    for (const std::size_t i : late) points += "," + points_cell(student.results[i].best_on_time());
    points += "," + cell(notes_of(results, student)) + "\r\n";
    for (const Person& person : people_of(student))
      csv += cell(student.key) + "," + cell(person.name.empty() ? student.name : person.name) + "," +
             cell(person.id) + points;
  }
  return csv;
}

std::string roster_csv(const ClassResults& results) {
  const auto& [roster, students] = results.enrolment.value();
  std::vector<std::vector<std::string>> rows = roster.rows;
  std::vector<std::string> head = roster.head;
  for (std::size_t i = 0; i < results.exercises.size(); ++i) {
    const std::size_t column = column_of(head, results.exercises[i]);
    head.resize(std::max(head.size(), column + 1), heading_of(results.exercises[i]));
    for (std::size_t line = 0; line < rows.size(); ++line) {
      rows[line].resize(head.size());
      if (is_of_points(roster, line)) rows[line][column] = points_text(results.all_points[i]);
      if (const Record* best = best_of(results, students[line], i)) rows[line][column] = points_cell(best);
    }
  }
  std::string csv = line_of(head, roster.separator);
  for (const auto& row : rows) csv += line_of(row, roster.separator);
  return csv;
}

}  // namespace ringcraft::grade
