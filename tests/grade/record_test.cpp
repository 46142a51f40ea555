// Sums of a graded class.
#include "grade/record/record.hpp"

#include "support/catch.hpp"

namespace ringcraft::grade {

TEST_CASE("a student's points are those of the attempts that count") {
  const auto attempt = [](double weight, verify::Status status) {
    Record record{.exercise = "104", .name = "merge.cpp", .digest = "1", .state = State::kGraded};
    record.report.rows.push_back({.id = "104.identity", .claim = "", .status = status, .weight = weight});
    return record;
  };
  const Result twice{{attempt(3, verify::Status::kFailed), attempt(3, verify::Status::kPassed)}, 1};
  const StudentResults student{"ada", "Ada", {}, {twice, Result{}}};
  CHECK(student.points() == 3);
  CHECK(student.results[1].state() == State::kMissing);
  CHECK(student.results[1].counted() == nullptr);
}

}  // namespace ringcraft::grade
