#pragma once
/// @file
/// Puzzles: the side exercises of a lesson, beyond writing its body. Find the bug (a plausible, wrong file to
/// repair), predict (a form with blanks), break it (the smallest case that tells wrong rings from the right
/// one), design the schedule (a text that the schedule checker judges). Each is one row of one table and ends
/// in the one Report. Only a repair holds a student's code, and that runs in workers as everywhere.

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "judge/verdict/judge.hpp"
#include "verify/report/report.hpp"

namespace ringcraft::judge {

/// Seeds of a puzzle are 1 to this.
inline constexpr std::uint64_t kLargestSeed = 999'999'999;

/// A student's submission.
struct Submission {
  std::filesystem::path file;   ///< its place; its name is used in sentences
  std::string text;             ///< its contents
  const CheckOptions& options;  ///< of the check
};

/// One claim about a submission.
struct PuzzleRow {
  std::string id;                  ///< "pairs"; reports show "401.predict.pairs"
  double weight;                   ///< points
  std::vector<std::string> needs;  ///< ids of earlier rows; if one of them did not pass, this one is skipped
  std::string claim;               ///< the property that should hold, as a sentence
  std::string hint;                ///< the next thing to consider, one sentence
  std::function<void()> run;       ///< returns, or throws Wrong or Error, whose sentence is the verdict
};

/// One side exercise.
struct Puzzle {
  std::string id;       ///< "301.deadlock": the lesson, and the name of its folder below puzzles/
  std::string kind;     ///< "find the bug", "predict", "break it" or "design the schedule"
  std::string title;    ///< "The exchange that stops on odd rings"
  std::string task;     ///< what to do, in one sentence for the terminal
  std::string file;     ///< the student's file: "deadlock.cpp"
  bool seeded = false;  ///< whether its numbers differ from seed to seed
  /// The text that the student begins with. The seed matters to a seeded puzzle alone.
  std::function<std::string(std::uint64_t seed)> given;
  /// The given text with right answers, where they are computed; for tests.
  std::function<std::string(std::uint64_t seed)> solved = {};
  bool runs_checks = false;  ///< whether the lesson's own checks judge the file, too, before the rows below,
                             ///< which may need them; they have no points of their own here
  /// The claims of the verdict on a submission, in order. The submission must outlive them.
  std::function<std::vector<PuzzleRow>(const Submission&)> rows;

  /// The number before the point.
  int lesson() const { return std::stoi(id.substr(0, 3)); }
  /// The name after it.
  std::string name() const { return id.substr(4); }
};

/// Whether an id names a side exercise, and no lesson.
inline bool is_puzzle(const std::string& id) { return id.find('.') != id.npos; }

/// All of them, by lesson.
const std::vector<Puzzle>& puzzles();
/// The puzzle of this id. Throws Error if there is none.
const Puzzle& puzzle_named(const std::string& id);

/// The points of all rows of a puzzle's verdict.
double all_points(const Puzzle& puzzle);

/// The folder of a puzzle in the source tree: README.md, hints, the given file.
std::filesystem::path puzzle_folder(const Puzzle& puzzle);
/// The path of the student's file: WORKSPACE/301_exchange/deadlock.cpp.
std::filesystem::path puzzle_file(const Puzzle& puzzle, const std::filesystem::path& workspace);

/// Writes the given file into the workspace and returns its path. Throws Error for an unknown id, if the file
/// is there already, or if it cannot be written.
std::filesystem::path start_puzzle(const std::string& id, const std::filesystem::path& workspace,
                                   std::uint64_t seed = 1);
/// The verdict on the student's file. Throws Error for an unknown id, a puzzle that was not started, and a
/// missing compiler; never for the contents of the file.
verify::Report check_puzzle(const std::string& id, const std::filesystem::path& workspace,
                            const CheckOptions& options = {});
/// The same for a file anywhere.
verify::Report check_puzzle_file(const std::string& id, const std::filesystem::path& file,
                                 const CheckOptions& options = {});

}  // namespace ringcraft::judge
