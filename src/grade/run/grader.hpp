#pragma once
/// @file
/// Grades a class: judges every file that was handed in, each in a process of its own behind the layers of
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

/// What to grade, and how.
struct GradeOptions {
  std::filesystem::path folder;        ///< what was handed in (read_class)
  std::filesystem::path out;           ///< of the ledger; it is made
  std::vector<Exercise> exercises;     ///< in the order of the reports
  std::vector<double> all_points;      ///< of each exercise; 0 where its reports say
  bool only_handed_in = false;         ///< leave out exercises that nobody has handed in
  std::optional<Secret> secret = {};   ///< empty: that of the ledger, or a new one
  int jobs = 1;                        ///< files that are judged at a time
  std::set<std::string> without = {};  ///< layers that may be missing
  bool again = false;                  ///< judge also what has a verdict
  std::filesystem::path program;  ///< called as PROGRAM check ID --file F --seed X --json R --confidential
  std::filesystem::path tree;     ///< the project's folder, which the program reads
  std::filesystem::path build;    ///< and its build tree
  /// Called before each file: how many are done, how many there are, and which one is next.
  std::function<void(std::size_t done, std::size_t total, const std::string& what)> progress = {};
};

/// The graded class. Throws Error if the folder cannot be read, a layer is missing, or the disk is full: what
/// was judged until then is kept. Never for what a student has handed in.
ClassResults grade(const GradeOptions& options);

}  // namespace ringcraft::grade
