#pragma once
/// @file
/// Results of grading a class: one Record for each file that was judged, and the best of them for each
/// student and exercise. Every page and table about a class is rendered from this.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "grade/intake/class_folder.hpp"
#include "grade/intake/roster.hpp"
#include "verify/report/report.hpp"

namespace ringcraft::grade {

/// How far a hand-in came.
enum class State : std::uint8_t {
  kMissing,     ///< nothing was handed in
  kUngradable,  ///< refused at intake, or it does not compile: a person looks at it, it is no wrong answer
  kGraded,      ///< all checks ran, or were skipped for what they need
  kUnjudged,    ///< the judge itself did not come to an end: to be graded again
};

/// "missing", "ungradable", "graded" or "unjudged".
std::string_view name_of(State state);

/// The verdict on one hand-in.
struct Record {
  std::string exercise;  ///< Exercise::id
  std::string name;      ///< HandIn::name
  std::string digest;    ///< fingerprint of the file
  State state = State::kMissing;
  std::string sentence = {};                   ///< why it is ungradable or unjudged; empty if it is graded
  verify::Report report = {};                  ///< empty if it was refused
  std::optional<std::int64_t> handed_in = {};  ///< see HandIn
  bool late = false;
};

/// One student in one exercise.
struct Result {
  std::vector<Record> attempts = {};  ///< from the first to the last
  std::size_t best = 0;               ///< of attempts, the one that counts: the most points, then the first
  std::optional<std::size_t> on_time = {};  ///< the same of those that are not late, where that one is

  /// The attempt that counts; null if there is none.
  const Record* counted() const { return attempts.empty() ? nullptr : &attempts[best]; }
  State state() const { return attempts.empty() ? State::kMissing : attempts[best].state; }
  double points() const { return attempts.empty() ? 0 : attempts[best].report.points(); }
  /// Whether the attempt that counts is late.
  bool is_late() const { return !attempts.empty() && attempts[best].late; }
  /// The best graded attempt that is not late; null if there is none.
  const Record* best_on_time() const {
    const Record* const one = !is_late() ? counted() : on_time ? &attempts[*on_time] : nullptr;
    return one != nullptr && one->state == State::kGraded ? one : nullptr;
  }
};

/// One student.
struct StudentResults {
  std::string key, name;             ///< see Student
  std::vector<std::string> remarks;  ///< see Student
  std::vector<Result> results;       ///< one per exercise of the class
  std::vector<Person> people = {};   ///< see Student
  /// The points of all exercises.
  double points() const;
  /// Whether any of them has a verdict.
  bool is_graded() const;
};

/// A layer between a student's code and this machine, and whether this host has it.
struct Layer {
  std::string id;     ///< "namespaces"
  std::string claim;  ///< what it keeps out, in one sentence
  bool here = false;
  std::string reason;         ///< why it is missing, and what gives it; empty if it is here
  std::string fallback = {};  ///< what holds where it is missing; empty: nothing does
};
/// Whether grading must be told to go on without it: it is missing, and nothing holds instead.
inline bool is_wanted(const Layer& layer) { return !layer.here && layer.fallback.empty(); }

/// A pair of files that have much in common.
struct Alike {
  std::string exercise, one, other;  ///< the students' keys
  double share = 0;                  ///< of the tokens of the shorter file, beyond what was given; 0 to 1
};

/// Files that are the same, but for names, layout and comments.
struct Same {
  std::string exercise;
  std::vector<std::string> students;  ///< their keys: three or more, or any that have the library's file
  bool is_library = false;            ///< it is the library's own
};

/// A class as its course's system knows it, and who of them has handed in.
struct Enrolment {
  Roster roster;
  std::vector<std::vector<std::size_t>> students;  ///< for each line of it indices of students: of several
                                                   ///< the best counts, in each exercise
};

/// A graded class.
struct ClassResults {
  std::string title;  ///< the name of the folder, or what it was called
  std::vector<Exercise> exercises;
  std::vector<double> all_points;           ///< of each exercise
  std::vector<StudentResults> students;     ///< by key
  std::vector<Layer> layers;                ///< of this host
  std::vector<Alike> alike = {};            ///< from the most alike to the least
  std::vector<Same> same = {};              ///< by exercise
  std::vector<std::string> remarks = {};    ///< see ClassFolder
  std::optional<Enrolment> enrolment = {};  ///< if there was a roster
  double points() const;                    ///< of all exercises, at most
};

/// Those whom a roster and the hand-ins do not have in common.
struct Absences {
  std::vector<std::string> without_hand_in;              ///< names on the roster
  std::vector<const StudentResults*> without_line = {};  ///< students of the class
};
/// Theirs; the class has a roster.
Absences absences_of(const ClassResults& results);

}  // namespace ringcraft::grade
