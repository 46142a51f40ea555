// A report as JSON, written and read.
#include <array>
#include <limits>
#include <nlohmann/json.hpp>
#include <type_traits>

#include "ringcraft/core/shown.hpp"
#include "verify/report/report.hpp"
#include "verify/report/strict_json.hpp"

namespace ringcraft::verify {
namespace {

constexpr const char* kAdvice = "write it again with this version";

nlohmann::json json_of(const Figure& figure) {
  return {{"name", figure.name},
          {"value", figure.value},
          {"theory", figure.theory ? nlohmann::json(*figure.theory) : nlohmann::json()},
          {"unit", figure.unit}};
}

nlohmann::json json_of(const ReportRow& row) {
  nlohmann::json figures = nlohmann::json::array();
  for (const Figure& figure : row.figures) figures.push_back(json_of(figure));
  nlohmann::json maps = nlohmann::json::array(), causes = nlohmann::json::array();
  for (const ErrorMap& map : row.maps) maps.push_back({{"tensor", map.tensor}, {"ranks", map.ranks}});
  for (const Cause& cause : row.causes)
    causes.push_back({{"id", cause.id},
                      {"sentence", cause.sentence},
                      {"question", cause.question},
                      {"also", cause.also},
                      {"guess", cause.guess}});
  return {{"id", row.id},
          {"claim", row.claim},
          {"status", name_of(row.status)},
          {"weight", row.weight},
          {"sentence", shown_lines(row.sentence)},
          {"hint", row.hint},
          {"figures", figures},
          {"maps", maps},
          {"causes", causes},
          {"yours", row.yours},
          {"remark", shown_lines(row.remark)},
          {"unexplained", row.unexplained},
          {"timed", row.timed},
          {"code", row.code},
          {"facts", row.facts}};
}

double number_in(const StrictJson& value) {
  return value.is_null() ? std::numeric_limits<double>::quiet_NaN() : value.number();
}

Status status_in(const StrictJson& value) {
  constexpr std::array kAll{Status::kPassed, Status::kFailed, Status::kSkipped};
  return kAll[value.one_of(std::array{name_of(kAll[0]), name_of(kAll[1]), name_of(kAll[2])})];
}

// The elements of a list, each read by this function.
template <class Read>
auto list_in(const StrictJson& value, Read read) {
  std::vector<std::invoke_result_t<Read, const StrictJson&>> all;
  for (std::size_t i = 0; i < value.size(); ++i) all.push_back(read(value[i]));
  return all;
}

std::string text_in(const StrictJson& value) { return value.words(); }

Figure figure_in(const StrictJson& value) {
  Figure figure{value["name"].words(), number_in(value["value"]), {}, value["unit"].words()};
  if (!value["theory"].is_null()) figure.theory = value["theory"].number();
  return figure;
}

ReportRow row_in(const StrictJson& value) {
  ReportRow row;
  row.id = value["id"].words();
  row.claim = value["claim"].words();
  row.status = status_in(value["status"]);
  row.weight = value["weight"].number();
  row.sentence = value["sentence"].words();
  row.hint = value["hint"].words();
  row.figures = list_in(value["figures"], figure_in);
  row.maps = list_in(value["maps"], [](const StrictJson& map) {
    return ErrorMap{map["tensor"].words(), list_in(map["ranks"], text_in)};
  });
  row.causes = list_in(value["causes"], [](const StrictJson& cause) {
    return Cause{cause["id"].words(), cause["sentence"].words(), cause["question"].words(),
                 cause["also"].truth()};
  });
  row.yours = value["yours"].integers<int>(1, 999);
  row.remark = value["remark"].words();
  row.unexplained = value["unexplained"].truth();
  row.timed = value["timed"].truth();
  row.code = value["code"].words();
  row.facts = list_in(value["facts"], text_in);
  return row;
}

}  // namespace

std::string json_of(const Report& report) {
  nlohmann::json rows = nlohmann::json::array();
  for (const ReportRow& row : report.rows) rows.push_back(json_of(row));
  const nlohmann::json all{{"title", report.title},
                           {"seed", report.seed ? nlohmann::json(*report.seed) : nlohmann::json()},
                           {"good", report.good()},
                           {"points", report.points()},
                           {"all_points", report.all_points()},
                           {"rows", rows}};
  // Replaces invalid UTF-8: a worker may have printed any bytes.
  return all.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

Report report_of_json(const std::string& text, const std::string& place) {
  const nlohmann::json document = parsed(text, place, kAdvice);
  const StrictJson all(document, place, kAdvice);
  Report report{all["title"].words(), list_in(all["rows"], row_in)};
  if (!all["seed"].is_null()) report.seed = all["seed"].natural();
  return report;
}

}  // namespace ringcraft::verify
