// Counts failed checks and known mistakes over the attempts that count.
#include "grade/pages/tally.hpp"

#include <algorithm>

namespace ringcraft::grade {
namespace {

using verify::Cause;
using verify::ReportRow;
using verify::Status;

// The check of a row, which is added when its first report comes by.
CheckTally& check_of(std::vector<CheckTally>& checks, std::size_t exercise, const ReportRow& row) {
  for (CheckTally& check : checks)
    if (check.exercise == exercise && check.id == row.id) return check;
  const auto next =
      std::ranges::find_if(checks, [=](const CheckTally& check) { return check.exercise > exercise; });
  return *checks.insert(next, {exercise, row.id, row.claim, {}, {}, {}});
}

void count_in(CauseTally& tally, std::size_t exercise, std::size_t exercises, const StudentResults* student) {
  tally.of_exercise.resize(exercises);
  ++tally.of_exercise[exercise];
  if (tally.students.empty() || tally.students.back() != student) tally.students.push_back(student);
}

void word_in(std::vector<Wording>& wordings, const std::string& sentence, const StudentResults* student) {
  auto same = std::ranges::find(wordings, sentence, &Wording::sentence);
  if (same == wordings.end()) same = wordings.insert(same, {sentence});
  if (std::ranges::find(same->students, student) == same->students.end()) same->students.push_back(student);
}

// The likeliest causes of all failed rows of a report, each once.
std::vector<Cause> likeliest(const verify::Report& report) {
  std::vector<Cause> found;
  for (const ReportRow& row : report.rows) {
    if (row.status != Status::kFailed) continue;
    for (std::size_t i = 0; i < row.causes.size() && (i == 0 || row.causes[i].also); ++i)
      if (std::ranges::find(found, row.causes[i].id, &Cause::id) == found.end())
        found.push_back(row.causes[i]);
  }
  return found;
}

}  // namespace

Tally tally_of(const ClassResults& results) {
  Tally tally;
  const std::size_t exercises = results.exercises.size();
  tally.unexplained.of_exercise.resize(exercises);
  for (const StudentResults& student : results.students)
    for (std::size_t i = 0; i < exercises; ++i) {
      const State state = student.results[i].state();
      if (state != State::kGraded && state != State::kUngradable) continue;
      const verify::Report& report = student.results[i].counted()->report;
      for (const ReportRow& row : report.rows) {
        if (state == State::kUngradable && row.status != Status::kFailed) continue;  // nothing else was tried
        CheckTally& check = check_of(tally.checks, i, row);
        (row.status == Status::kFailed    ? check.failed
         : row.status == Status::kSkipped ? check.skipped
                                          : check.passed)
            .push_back(&student);
      }
      if (state == State::kUngradable) continue;
      for (const Cause& cause : likeliest(report)) {
        auto known = std::ranges::find(tally.causes, cause.id, &CauseTally::id);
        if (known == tally.causes.end()) known = tally.causes.insert(known, {cause.id, {}, {}, {}});
        count_in(*known, i, exercises, &student);
        word_in(known->wordings, cause.sentence, &student);
      }
      if (std::ranges::any_of(report.rows, &ReportRow::unexplained))
        count_in(tally.unexplained, i, exercises, &student);
    }
  std::ranges::sort(tally.causes, [](const CauseTally& a, const CauseTally& b) {
    return a.students.size() != b.students.size() ? a.students.size() > b.students.size() : a.id < b.id;
  });
  return tally;
}

}  // namespace ringcraft::grade
