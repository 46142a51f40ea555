// Writes the tables of the corpus as CSV.
#include "table.hpp"

#include <fstream>

#include "judge/tree/config.hpp"
#include "ringcraft/core/error.hpp"

namespace ringcraft::judge {
namespace {

constexpr const char* kColumns = "id,file,sentence,checks,cause";

bool is_build_step(const std::string& check) { return check == "compiles" || check == "belongs"; }

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

TableRow row_for(const WrongFile& file, const Verdict& verdict) {
  TableRow row{file.id, file.path.stem(), file.sentence, "", ""};
  for (std::size_t i = 0; i < verdict.outcomes.size(); ++i) {
    const verify::ReportRow& judged = verdict.report.rows[i];
    const std::string check = judged.id.substr(judged.id.find('.') + 1);
    if (!is_build_step(check))
      row.checks += (row.checks.empty() ? "" : " ") + check + "=" + verdict.outcomes[i].sign;
    if (row.cause.empty() && !judged.causes.empty()) row.cause = judged.causes.front().id;
  }
  return row;
}

std::filesystem::path table_file(const LessonInfo& lesson) {
  return std::filesystem::path(kSourceRoot) / "tests/misconceptions/tables" / (lesson.name + ".csv");
}

std::vector<TableRow> read_table(const std::filesystem::path& csv) {
  std::vector<TableRow> rows;
  std::ifstream file(csv);
  std::string line;
  std::getline(file, line);  // the names of the columns
  while (std::getline(file, line)) {
    const std::vector<std::string> fields = fields_of(line);
    if (fields.size() != 5)
      throw Error(csv.string(), kColumns, line,
                  "write the table again: build/native/bin/misconceptions --write");
    rows.push_back({fields[0], fields[1], fields[2], fields[3], fields[4]});
  }
  return rows;
}

std::string csv_of(const std::vector<TableRow>& rows) {
  std::string text = std::string(kColumns) + "\n";
  for (const TableRow& row : rows)
    text += row.id + "," + row.file + "," + quoted(row.sentence) + "," + row.checks + "," + row.cause + "\n";
  return text;
}

}  // namespace ringcraft::judge
