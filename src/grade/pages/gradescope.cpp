// Gradescope's results.json of one student. All text is declared as plain text, and what the grader itself
// prints is hidden. There is no execution_time, which a regrade would change, and no leaderboard.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "grade/pages/pages.hpp"
#include "grade/pages/rows.hpp"
#include "ringcraft/core/shown.hpp"

namespace ringcraft::grade {
namespace {

using nlohmann::json;
using verify::ReportRow;
using verify::Status;

json test_of(const std::string& number, const std::string& name, double score, double all, bool passed,
             const std::string& output, const std::string& tag, const std::string& exercise) {
  return {{"number", number},
          {"name", shown(name, 300)},
          {"name_format", "text"},
          {"score", score},
          {"max_score", all},
          {"status", passed ? "passed" : "failed"},
          {"output", shown_lines(output)},
          {"output_format", "text"},
          {"tags", {exercise, tag}},
          {"visibility", "visible"}};
}

// Gradescope knows no skipped tests: the text says that these are no mistakes.
std::string output_of(const ReportRow& row) {
  const std::string text = verify::text_of(row);
  return row.status == Status::kSkipped ? "No mistake, " + text : text;
}

void add_tests(json& tests, const std::string& number, const Exercise& exercise, const Result& result,
               double all) {
  if (result.state() != State::kGraded) {
    const Record* const record = result.counted();
    tests.push_back(
        test_of(number, heading_of(exercise), 0, all, false,
                explained(result.state()) + (record == nullptr ? " It is to be called " + exercise.file + "."
                                                               : "\n" + why_ungradable(*record)),
                std::string(name_of(result.state())), exercise.id));
    return;
  }
  int check = 0;
  for (const ReportRow& each : result.counted()->report.rows) {
    const ReportRow row = shown_row(each);
    const bool passed = row.status == Status::kPassed;
    tests.push_back(test_of(fmt::format("{}.{}", number, ++check), row.id + ": " + row.claim,
                            passed ? row.weight : 0, row.weight, passed, output_of(row),
                            std::string(verify::name_of(row.status)), exercise.id));
  }
}

// "104 Merge: 7 of 10 points, attempt 2 of 3, handed in late"
std::string line_of(const Exercise& exercise, const Result& result, double all) {
  std::string line = heading_of(exercise) + ": ";
  line += result.state() == State::kGraded
              ? fmt::format("{} of {}", points_text(result.points()), counted_points(all))
              : std::string(name_of(result.state()));
  if (result.attempts.size() > 1)
    line += fmt::format(", attempt {} of {}", result.best + 1, result.attempts.size());
  if (result.is_late()) line += ", handed in late";
  return line + "\n";
}

// "namespaces, user": what does not stand between the file and the host.
std::string missing_layers(const std::vector<Layer>& layers) {
  std::string names;
  for (const Layer& layer : layers)
    if (!layer.here) names += (names.empty() ? "" : ", ") + layer.id;
  return names;
}

}  // namespace

std::string gradescope_json(const ClassResults& results, const StudentResults& student) {
  json tests = json::array(), exercises = json::array();
  std::string output;
  for (std::size_t i = 0; i < results.exercises.size(); ++i) {
    const Exercise& exercise = results.exercises[i];
    const Result& result = student.results[i];
    add_tests(tests, std::to_string(i + 1), exercise, result, results.all_points[i]);
    output += line_of(exercise, result, results.all_points[i]);
    exercises.push_back({{"exercise", exercise.id},
                         {"state", name_of(result.state())},
                         {"points", result.points()},
                         {"all_points", results.all_points[i]},
                         {"digest", result.counted() == nullptr ? json() : json(result.counted()->digest)}});
  }
  for (const std::string& remark : student.remarks) output += remark + "\n";
  if (const std::string missing = missing_layers(results.layers); !missing.empty()) {
    json layers = test_of("0", "Layers of this machine", 0, 0, true, "layers missing here: " + missing,
                          "layers", "machine");
    layers["visibility"] = "hidden";  // an instructor's alone: it says where to attack
    tests.push_back(std::move(layers));
  }
  const json all{{"score", student.points()},
                 {"output", shown_lines(output)},
                 {"output_format", "text"},
                 {"test_output_format", "text"},
                 {"test_name_format", "text"},
                 {"visibility", "visible"},
                 {"stdout_visibility", "hidden"},
                 {"tests", tests},
                 {"extra_data", {{"exercises", exercises}}}};
  return all.dump(1, ' ', true, json::error_handler_t::replace) + "\n";
}

}  // namespace ringcraft::grade
