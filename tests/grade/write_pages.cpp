// Writes all renderings of the example class into a folder, for parsers of other languages and for a browser.
#include <filesystem>
#include <fstream>

#include "grade/example_class.hpp"
#include "grade/pages/pages.hpp"

int main(int, char** arguments) {
  namespace grade = ringcraft::grade;
  const std::filesystem::path folder = arguments[1];
  const auto write = [&](const std::string& name, const std::string& text) {
    std::filesystem::create_directories((folder / name).parent_path());
    std::ofstream(folder / name, std::ios::binary) << text;
  };
  const grade::ClassResults results = grade::example_class();
  write("class.html", grade::class_page(results));
  write("gradebook.csv", grade::gradebook_csv(results));
  write("junit.xml", grade::junit_xml(results));
  write("report.json", grade::json_of(results));
  for (const grade::StudentResults& student : results.students) {
    write("students/" + grade::student_file(student.key), grade::student_page(results, student));
    write("gradescope/" + student.key + ".json", grade::gradescope_json(results, student));
  }
}
