#pragma once
/// @file
/// Whole verdicts on files of wrong/ and right/, each a submission as a student would hand it in. A lesson's
/// own file, verdicts_NNN_test.cpp, lists its files: the wrong ones with the check that must catch them, the
/// right ones, which are equivalent to the library's.

#include <chrono>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "judge/judge.hpp"
#include "support/catch.hpp"

namespace ringcraft::judge {

/// The top of the source tree.
inline const std::filesystem::path kRoot = RINGCRAFT_SOURCE_DIR;

/// A known wrong implementation. The file's name starts with the number of its lesson.
struct WrongFile {
  const char* file;      ///< below wrong/, without ".cpp"
  const char* check;     ///< the check that must catch it
  const char* fragment;  ///< of that check's sentence
};

/// An implementation that is equivalent to the library's.
struct RightFile {
  const char* file;                     ///< below right/, without ".cpp"
  std::set<std::string> may_fail = {};  ///< what the contract asks for beyond right values: "303.last-block"
};

/// The verdict on a file of tests/judge: "wrong/104_average".
verify::Report verdict(const std::string& file,
                       std::chrono::milliseconds per_call = std::chrono::seconds(20));

/// Ids of the checks that failed: "104.two-halves".
std::set<std::string> failed(const verify::Report& report);

/// The row of this id, which must be there.
const verify::ReportRow& row(const verify::Report& report, const std::string& id);

/// How many of so many files a run looks at; printed if it is not all of them.
std::size_t looked_at_count(std::size_t all);

/// The files that a run looks at: all; under sanitizers, which make a verdict ten times as slow and judge
/// nothing else than the library around the student's file, every sixth, and the count is printed.
/// RINGCRAFT_LONG=1: all.
template <class File>
std::vector<File> looked_at(const std::vector<File>& all) {
  const std::size_t count = looked_at_count(all.size());
  std::vector<File> some;
  for (std::size_t i = 0; i < count; ++i) some.push_back(all[i * all.size() / count]);
  return some;
}

/// The file fails its check, with its fragment in the sentence.
void require_caught(const WrongFile& wrong);

/// The file passes every check beyond those that it may fail.
void require_accepted(const RightFile& right);

/// The two tables hold every file of this lesson, each once.
void require_listed(int lesson, const std::vector<WrongFile>& wrong, const std::vector<RightFile>& right);

}  // namespace ringcraft::judge
