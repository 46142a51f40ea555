// A gradebook as CSV, RFC 4180. A spreadsheet computes whatever begins like a formula, also between quotes.
#include <algorithm>

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
    const bool late = result.counted() != nullptr && result.counted()->late;
    for (const std::string& note :
         {result.state() == State::kGraded ? std::string() : std::string(name_of(result.state())),
          late ? std::string("late") : std::string()})
      if (!note.empty()) notes += (notes.empty() ? "" : "; ") + results.exercises[i].id + " " + note;
  }
  if (!student.remarks.empty())  // one of them may be a missing file under another name
    notes += (notes.empty() ? "" : "; ") + counted(student.remarks.size(), "file") + " passed over";
  return notes;
}

// A row for each member of a group.
std::vector<Person> people_of(const StudentResults& student) {
  return student.people.empty() ? std::vector<Person>{{student.name, ""}} : student.people;
}

}  // namespace

std::string gradebook_csv(const ClassResults& results) {
  std::string csv = "\"student\",\"name\",\"id\"";
  for (std::size_t i = 0; i < results.exercises.size(); ++i)
    csv += "," + cell(heading_of(results.exercises[i]) + " (" + points_text(results.all_points[i]) + ")");
  csv += "," + cell("sum (" + points_text(results.points()) + ")") + ",\"notes\"\r\n";
  for (const StudentResults& student : results.students) {
    std::string points;
    for (const Result& result : student.results)  // an empty cell is no zero: nothing was judged
      points += "," + (result.state() == State::kGraded ? points_text(result.points()) : "");
    points += "," + points_text(student.points()) + "," + cell(notes_of(results, student)) + "\r\n";
    for (const Person& person : people_of(student))
      csv += cell(student.key) + "," + cell(person.name.empty() ? student.name : person.name) + "," +
             cell(person.id) + points;
  }
  return csv;
}

}  // namespace ringcraft::grade
