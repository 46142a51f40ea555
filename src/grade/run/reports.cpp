// Writes the reports of a graded class.
#include "grade/run/reports.hpp"

#include <nlohmann/json.hpp>
#include <set>

#include "grade/pages/pages.hpp"
#include "grade/run/ledger.hpp"

namespace ringcraft::grade {
namespace {

// {"ada": {"108": {"108.speed": {"your kernel": 31.2}}}}: the figures of rows that rest on measured time.
std::string times_json(const ClassResults& results) {
  nlohmann::json all = nlohmann::json::object();
  for (const StudentResults& student : results.students)
    for (const Result& result : student.results)
      if (const Record* record = result.counted())
        for (const verify::ReportRow& row : record->report.rows)
          for (const verify::Figure& figure : row.figures)
            if (row.timed) all[student.key][record->exercise][row.id][figure.name] = figure.value;
  return all.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

// Removes the files of students who are no longer in the class.
void remove_others(const std::filesystem::path& folder, const std::set<std::string>& files) {
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (!files.contains(entry.path().filename().string())) std::filesystem::remove(entry.path());
}

}  // namespace

void write_reports(const ClassResults& results, const std::filesystem::path& folder) {
  for (const char* name : {"students", "gradescope"}) std::filesystem::create_directories(folder / name);
  std::set<std::string> pages, tables;
  for (const StudentResults& student : results.students) {
    pages.insert(student_file(student.key));
    tables.insert(student.key + ".json");
  }
  remove_others(folder / "students", pages);
  remove_others(folder / "gradescope", tables);
  for (const StudentResults& student : results.students) {
    write_whole(folder / "students" / student_file(student.key), student_page(results, student));
    write_whole(folder / "gradescope" / (student.key + ".json"), gradescope_json(results, student));
  }
  write_whole(folder / "index.html", class_page(results));
  write_whole(folder / "report.json", json_of(results));
  write_whole(folder / "gradebook.csv", gradebook_csv(results));
  if (results.enrolment)
    write_whole(folder / "roster.csv", roster_csv(results));
  else
    std::filesystem::remove(folder / "roster.csv");
  write_whole(folder / "junit.xml", junit_xml(results));
  write_whole(folder / "times.json", times_json(results));
}

}  // namespace ringcraft::grade
