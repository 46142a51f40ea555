// Finds puzzles by their id, writes the given file, and judges a student's.
#include "judge/puzzle/puzzle.hpp"

#include <algorithm>
#include <map>

#include "judge/checks/lesson.hpp"
#include "judge/puzzle/puzzle_kinds.hpp"
#include "judge/tree/config.hpp"
#include "judge/tree/text_file.hpp"
#include "ringcraft/core/error.hpp"
#include "ringcraft/core/shown.hpp"
#include "ringcraft/io/text_file.hpp"

namespace ringcraft::judge {
namespace {

using verify::ReportRow;
using verify::Status;

// The reason why a row is not tried; empty if it is.
std::string obstacle(const PuzzleRow& row, const std::map<std::string, const ReportRow*>& before) {
  for (const std::string& need : row.needs)
    if (const ReportRow& needed = *before.at(need); needed.status != Status::kPassed)
      return "not tried: it needs " + needed.id;
  return {};
}

// Runs the rows in order, after those of the lesson's checks. Mistakes of a submission become rows, never
// exceptions.
void run_rows(const std::string& puzzle_id, const std::vector<PuzzleRow>& rows,
              std::vector<ReportRow>& report) {
  report.reserve(report.size() + rows.size());
  std::map<std::string, const ReportRow*> before;
  for (const ReportRow& row : report) before[row.id.substr(row.id.rfind('.') + 1)] = &row;
  for (const PuzzleRow& row : rows) {
    ReportRow& made = report.emplace_back();
    made.id = puzzle_id + "." + row.id;
    made.claim = row.claim;
    made.weight = row.weight;
    made.sentence = obstacle(row, before);
    before[row.id] = &made;
    if (!made.sentence.empty()) continue;
    made.status = Status::kFailed;
    made.hint = row.hint;
    try {
      row.run();
      made.status = Status::kPassed;
    } catch (const Wrong& wrong) {
      made.sentence = wrong.sentence();
    } catch (const Error& error) {
      made.sentence = error.what();
    }
  }
}

}  // namespace

const Puzzle& puzzle_named(const std::string& id) {
  const auto found = std::ranges::find(puzzles(), id, &Puzzle::id);
  if (found != puzzles().end()) return *found;
  std::string known;
  for (const Puzzle& puzzle : puzzles()) known += (known.empty() ? "" : ", ") + puzzle.id;
  throw Error("side exercise", "one of " + known, shown(id), "see ./ringcraft lessons for the road");
}

double all_points(const Puzzle& puzzle) {
  const CheckOptions options;
  double points = 0;
  for (const PuzzleRow& row : puzzle.rows({"", "", options})) points += row.weight;
  return points;
}

std::filesystem::path puzzle_folder(const Puzzle& puzzle) {
  return std::filesystem::path(kSourceRoot) / "lessons" / lesson_numbered(puzzle.lesson()).name / "puzzles" /
         puzzle.name();
}

std::filesystem::path puzzle_file(const Puzzle& puzzle, const std::filesystem::path& workspace) {
  return workspace / lesson_numbered(puzzle.lesson()).name / puzzle.file;
}

std::string given_file(const std::string& puzzle_id, const std::string& name) {
  const std::filesystem::path path = puzzle_folder(puzzle_named(puzzle_id)) / name;
  if (!std::filesystem::is_regular_file(path))
    throw Error("side exercise " + puzzle_id, "its file", "none in this tree",
                "a tree for students has it once lesson " + puzzle_id.substr(0, 3) + " is solved in it",
                Code::kMissing);
  return read_text(path);
}

std::filesystem::path start_puzzle(const std::string& id, const std::filesystem::path& workspace,
                                   std::uint64_t seed) {
  const Puzzle& puzzle = puzzle_named(id);
  const std::filesystem::path target = puzzle_file(puzzle, workspace);
  if (seed < 1 || seed > kLargestSeed)
    throw Error("start", "a seed from 1 to " + std::to_string(kLargestSeed), std::to_string(seed),
                "choose another");
  begin_file(target, puzzle.given(seed), id);
  return target;
}

verify::Report check_puzzle(const std::string& id, const std::filesystem::path& workspace,
                            const CheckOptions& options) {
  const std::filesystem::path file = puzzle_file(puzzle_named(id), workspace);
  if (!std::filesystem::exists(file))
    throw Error("check", "your file " + file.string(), "none", "type ./ringcraft start " + id + " to get it");
  return check_puzzle_file(id, file, options);
}

verify::Report check_puzzle_file(const std::string& id, const std::filesystem::path& file,
                                 const CheckOptions& options) {
  const Puzzle& puzzle = puzzle_named(id);
  verify::Report report{"Lesson " + id + ", " + puzzle.kind + ": " + puzzle.title, {}};
  const Submission handed_in{file, read_text_file("check", file, kLargestOwnFile), options};
  if (puzzle.runs_checks) report.rows = check(puzzle.lesson(), file, options).report.rows;
  for (ReportRow& row : report.rows) row.weight = 0;  // most of them pass without a repair
  run_rows(id, puzzle.rows(handed_in), report.rows);
  return report;
}

}  // namespace ringcraft::judge
