#pragma once
/// @file
/// The judge's interface: lists the exercises, starts one, and judges a student's file. The file is compiled,
/// linked instead of the library's own file, and run in processes that know neither expected values nor the
/// oracle; the verdict is computed here.

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "judge/checks/seeds.hpp"
#include "judge/outcome/outcome.hpp"
#include "judge/run/team.hpp"
#include "verify/report/report.hpp"

namespace ringcraft::judge {

/// A lesson that has an exercise.
struct LessonInfo {
  int number;            ///< 104
  std::string name;      ///< "104_merge", its folder below lessons and below the workspace
  std::string source;    ///< the library's own file: "src/ringcraft/attention/merge.cpp"
  std::string function;  ///< "merge"
  bool checkable;        ///< whether check can judge it: kernels need a build that runs them on the CPU
};

/// All of them, by number.
std::vector<LessonInfo> lessons();

/// The path of the student's file of a lesson: WORKSPACE/104_merge/merge.cpp. Throws Error for an unknown
/// lesson.
std::filesystem::path exercise_file(int lesson, const std::filesystem::path& workspace);
/// The same, which must be there: throws Error if the lesson was not started.
std::filesystem::path started_file(int lesson, const std::filesystem::path& workspace);

/// The library's own file of a lesson, with the body between its marks: in src, or in an exported tree where
/// the build has unpacked it. Throws Error for an unknown lesson, and (kMissing) in a tree that has this body
/// as a prebuilt object only.
std::filesystem::path original_file(int lesson);

/// The text of an exercise file before a student writes in it. Throws Error for an unknown lesson.
std::string exercise_text(int lesson);

/// Writes the exercise file: the library's own with the body taken out. Returns its path. Throws Error for an
/// unknown lesson, if the file is there already, or if it cannot be written.
std::filesystem::path start(int lesson, const std::filesystem::path& workspace);

/// Whether a started file is still unchanged: the student has written nothing in it. Throws Error
/// for an unknown lesson and a file that cannot be read.
bool untouched(int lesson, const std::filesystem::path& file);

/// Whether this program is built with the checks of a lesson. Throws Error for an unknown lesson.
bool has_checks(int lesson);

/// The options of a check.
struct CheckOptions {
  /// The seed of all inputs; for a side exercise with random numbers, the one that it was started with. Where
  /// a file is judged for points, one that cannot be known beforehand.
  std::uint64_t seed = kSeedOfCorpus;
  std::chrono::milliseconds per_call{5000};  ///< a call that takes longer counts as hanging
  Words words = Words::kShown;               ///< hidden where the inputs must stay secret
  /// Called before each step with its claim, how many steps are done, and how many there are.
  std::function<void(const std::string& claim, int done, int total)> progress;
};

/// A report, and the outcome of each of its rows, which a diagnosis needs.
struct Verdict {
  verify::Report report;
  std::vector<Outcome> outcomes;  ///< one per row of the report
};

/// Compiles a file, a student's (started_file) or any other, and runs all checks of the lesson. Rows
/// "104.compiles" and "104.belongs" (weight 0) come first; a check whose needs did not pass is skipped, and
/// after a call that hangs all others are. Throws Error for an unknown lesson, a file that cannot be read,
/// and a missing compiler; never for the behaviour of the file.
Verdict check(int lesson, const std::filesystem::path& file, const CheckOptions& options = {});

/// The same under several seeds of inputs, for which the file is compiled once: a verdict for each.
std::vector<Verdict> check_under(std::span<const std::uint64_t> seeds, int lesson,
                                 const std::filesystem::path& file, CheckOptions options = {});

/// The result of build_for_debugging.
struct DebugBuild {
  std::filesystem::path program;  ///< empty if the file was not built
  verify::Report report;          ///< the reason, if the file was not built
};

/// Builds the checks and a student's file into one program, for debuggers and sanitizers: compiled with -g
/// -O0, and with the address and undefined-behaviour sanitizers where the compiler has them. Called with the
/// number of the lesson and a seed, it runs every rank as a thread, prints the report, and exits 0 if all
/// passed. It is no verdict: the student's code runs in the same process. Throws Error as check does.
DebugBuild build_for_debugging(int lesson, const std::filesystem::path& file);

}  // namespace ringcraft::judge
