// Sums of a graded class.
#include "grade/record/record.hpp"

#include <numeric>

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

double StudentResults::points() const {
  double sum = 0;
  for (const Result& result : results) sum += result.points();
  return sum;
}

double ClassResults::points() const { return std::accumulate(all_points.begin(), all_points.end(), 0.0); }

}  // namespace ringcraft::grade
