// Tables of misconceptions as CSV (see misconceptions.hpp).
#include "judge/verdict/misconceptions.hpp"

#include <fstream>

#include "judge/checks/lesson.hpp"
#include "judge/tree/config.hpp"
#include "ringcraft/core/error.hpp"

namespace ringcraft::judge {
namespace {

constexpr const char* kColumns = "id,file,sentence,question,fingerprint";

// In quotes if it must be; a quote inside is doubled.
std::string quoted(const std::string& field) {
  if (field.find_first_of(",\"") == field.npos) return field;
  std::string text = "\"";
  for (const char letter : field) text += letter == '"' ? std::string("\"\"") : std::string(1, letter);
  return text + "\"";
}

std::vector<std::string> fields_of(const std::string& line) {
  std::vector<std::string> fields(1);
  bool inside = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '"' && inside && i + 1 < line.size() && line[i + 1] == '"')
      fields.back() += line[++i];
    else if (line[i] == '"')
      inside = !inside;
    else if (line[i] == ',' && !inside)
      fields.emplace_back();
    else
      fields.back() += line[i];
  }
  return fields;
}

}  // namespace

std::filesystem::path misconceptions_file(int lesson) {
  return std::filesystem::path(kSourceRoot) / "lessons" / lesson_numbered(lesson).name / "misconceptions.csv";
}

std::vector<Misconception> read_misconceptions(const std::filesystem::path& csv) {
  std::vector<Misconception> rows;
  std::ifstream file(csv);
  std::string line;
  std::getline(file, line);  // the names of the columns
  while (std::getline(file, line)) {
    const std::vector<std::string> fields = fields_of(line);
    if (fields.size() != 5)
      throw Error(csv.string(), kColumns, line,
                  "write the table again: build/native/bin/misconceptions --write");
    rows.push_back({fields[0], fields[1], fields[2], fields[3], fingerprint_from(fields[4])});
  }
  return rows;
}

std::string csv_of(const std::vector<Misconception>& rows) {
  std::string text = std::string(kColumns) + "\n";
  for (const Misconception& row : rows)
    text += row.id + "," + row.file + "," + quoted(row.sentence) + "," + quoted(row.question) + "," +
            quoted(text_of(row.fingerprint)) + "\n";
  return text;
}

}  // namespace ringcraft::judge
