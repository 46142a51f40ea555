#pragma once
/// @file
/// Grades a class: judges every file that was handed in, each in a process of its own within the layers of
/// this host, several at a time, and goes on where an earlier run was stopped.

#include <filesystem>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "grade/record/record.hpp"
#include "grade/run/ledger.hpp"

namespace ringcraft::grade {

/// A class, its exercises, and how to grade it.
struct GradeOptions {
  std::filesystem::path folder;          ///< what was handed in (read_class)
  std::filesystem::path out;             ///< of the ledger; it is made
  std::vector<Exercise> exercises;       ///< in the order of the reports
  std::vector<double> all_points;        ///< of each exercise
  bool only_handed_in = false;           ///< leave out exercises that nobody has handed in
  std::string title = {};                ///< of the class; empty: the name of the folder
  std::optional<Roster> roster = {};     ///< everyone in the class
  std::optional<Submission> whose = {};  ///< of one student's hand-in, if `folder` is one, and no class
  std::optional<Secret> secret = {};     ///< empty: that of the ledger, or a new one
  int jobs = 1;                          ///< files that are judged at a time
  std::set<std::string> without = {};    ///< layers that may be missing
  bool again = false;                    ///< judge also what has a verdict
  std::filesystem::path program;  ///< called as PROGRAM check ID --file F --seed X --json R --confidential
  std::filesystem::path tree;     ///< the project's folder, which the program reads
  std::filesystem::path build;    ///< and its build tree
  /// The texts that everyone has for an exercise: what `start` writes, and the library's own file.
  std::function<std::vector<std::string>(const std::string& exercise)> given = {};
  /// Called before each file: how many are done, how many there are, and which one is next.
  std::function<void(std::size_t done, std::size_t total, const std::string& what)> progress = {};
  /// Called before the first file and after each, with all that is known by then.
  std::function<void(const ClassResults&)> so_far = {};
};

/// Grades the class, and writes all reports into `out` (write_reports). Throws Error if the folder cannot be
/// read, a layer is missing, or the disk is full: what was judged until then is kept. Never for what a
/// student has handed in.
ClassResults grade(const GradeOptions& options);

/// An attempt that counts, judged once more with the same inputs, and with all that the program says.
struct Explained {
  verify::Report report;       ///< with the seed
  std::filesystem::path file;  ///< a copy of what was handed in, below `out`
  std::string name = {};       ///< of the student
  std::size_t attempt = 1, attempts = 1;
  bool late = false;
};
/// Explains the verdict on a student's exercise. `student`: a key, a name, or an id of the course's system.
/// Throws Error if there is no such student or exercise, or if there is nothing that can be judged.
Explained explain(const GradeOptions& options, const std::string& student, const std::string& exercise);

}  // namespace ringcraft::grade
