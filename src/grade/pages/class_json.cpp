// A class as JSON: everything that was found, except times. Letters beyond ASCII are written as \u escapes,
// so that the file is harmless on a terminal, too.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "grade/pages/pages.hpp"

namespace ringcraft::grade {
namespace {

using nlohmann::json;

json without_times(json report) {
  for (json& row : report["rows"])
    if (row["timed"] == true) row["figures"] = json::array();
  return report;
}

json json_of(const Record& record) {
  return {{"exercise", record.exercise},
          {"name", record.name},
          {"digest", record.digest},
          {"state", name_of(record.state)},
          {"sentence", record.sentence},
          {"report", without_times(json::parse(verify::json_of(record.report)))},
          {"handed_in", record.handed_in ? json(*record.handed_in) : json()},
          {"late", record.late}};
}

json json_of(const Exercise& exercise, const Result& result) {
  json attempts = json::array();
  for (const Record& record : result.attempts) attempts.push_back(json_of(record));
  return {{"exercise", exercise.id},
          {"state", name_of(result.state())},
          {"points", result.points()},
          {"best", result.attempts.empty() ? json() : json(result.best)},
          {"on_time", result.on_time ? json(*result.on_time) : json()},
          {"attempts", attempts}};
}

json json_of(const ClassResults& results, const StudentResults& student) {
  json each = json::array();
  for (std::size_t i = 0; i < results.exercises.size(); ++i)
    each.push_back(json_of(results.exercises[i], student.results[i]));
  return {{"key", student.key},
          {"name", student.name},
          {"points", student.points()},
          {"remarks", student.remarks},
          {"results", each}};
}

}  // namespace

std::string json_of(const ClassResults& results) {
  json exercises = json::array(), students = json::array(), layers = json::array(), pairs = json::array();
  for (std::size_t i = 0; i < results.exercises.size(); ++i) {
    const Exercise& exercise = results.exercises[i];
    exercises.push_back({{"id", exercise.id},
                         {"title", exercise.title},
                         {"folder", exercise.folder},
                         {"file", exercise.file},
                         {"points", results.all_points[i]}});
  }
  for (const StudentResults& student : results.students) students.push_back(json_of(results, student));
  for (const Layer& layer : results.layers)
    layers.push_back({{"id", layer.id},
                      {"claim", layer.claim},
                      {"here", layer.here},
                      {"reason", layer.reason},
                      {"fallback", layer.fallback}});
  for (const Alike& pair : results.alike)
    pairs.push_back(
        {{"exercise", pair.exercise}, {"one", pair.one}, {"other", pair.other}, {"share", pair.share}});
  json groups = json::array();
  for (const Same& group : results.same)
    groups.push_back(
        {{"exercise", group.exercise}, {"students", group.students}, {"is_library", group.is_library}});
  const json all{{"title", results.title}, {"points", results.points()}, {"exercises", exercises},
                 {"students", students},   {"layers", layers},           {"alike", pairs},
                 {"same", groups},         {"remarks", results.remarks}};
  return all.dump(1, ' ', true, json::error_handler_t::replace) + "\n";
}

}  // namespace ringcraft::grade
