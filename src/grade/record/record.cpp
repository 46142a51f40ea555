// Sums of a graded class.
#include "grade/record/record.hpp"

#include <algorithm>
#include <numeric>
#include <set>

namespace ringcraft::grade {

std::string_view name_of(State state) {
  switch (state) {
    case State::kMissing:
      return "missing";
    case State::kUngradable:
      return "ungradable";
    case State::kGraded:
      return "graded";
    case State::kUnjudged:
      return "unjudged";
  }
  return "?";
}

bool StudentResults::is_graded() const {
  return std::ranges::any_of(results, [](const Result& result) { return result.state() == State::kGraded; });
}

Absences absences_of(const ClassResults& results) {
  const auto& [roster, students] = results.enrolment.value();
  Absences absences;
  std::set<std::size_t> found;
  for (std::size_t line = 0; line < students.size(); ++line) {
    found.insert(students[line].begin(), students[line].end());
    if (const std::string label = label_of(roster, line);
        students[line].empty() && !label.empty() && !is_of_points(roster, line))
      absences.without_hand_in.push_back(label);
  }
  for (std::size_t s = 0; s < results.students.size(); ++s)
    if (!found.contains(s)) absences.without_line.push_back(&results.students[s]);
  return absences;
}

double StudentResults::points() const {
  double sum = 0;
  for (const Result& result : results) sum += result.points();
  return sum;
}

double ClassResults::points() const { return std::accumulate(all_points.begin(), all_points.end(), 0.0); }

}  // namespace ringcraft::grade
