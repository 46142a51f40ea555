#pragma once
/// @file
/// Counts a class: how often each check fails, and which mistakes occur where.

#include <string>
#include <vector>

#include "grade/record/record.hpp"

namespace ringcraft::grade {

/// One check, over the attempts that count.
struct CheckTally {
  std::size_t exercise = 0;  ///< index into ClassResults::exercises
  std::string id, claim;
  std::vector<const StudentResults*> failed, skipped, passed;
};

/// The words in which a mistake was told, and those who were told them.
struct Wording {
  std::string sentence;
  std::vector<const StudentResults*> students = {};  ///< each once
};

/// One known mistake. A student counts once for it in each exercise.
struct CauseTally {
  std::string id;
  std::vector<Wording> wordings;                ///< from the first student on
  std::vector<const StudentResults*> students;  ///< each once
  std::vector<int> of_exercise;                 ///< how many students, per exercise
};

/// A class in numbers. Students whose file was not judged count nowhere.
struct Tally {
  std::vector<CheckTally> checks;  ///< by exercise, then in the order of the reports
  std::vector<CauseTally> causes;  ///< those of the most students first
  CauseTally unexplained;          ///< a failure that no known mistake explains
};

/// Counts. Of the causes of a failed check the likeliest counts, with those that hold in addition.
Tally tally_of(const ClassResults& results);

}  // namespace ringcraft::grade
