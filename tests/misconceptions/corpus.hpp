#pragma once
/// @file
/// The corpus: submissions, most of them as edits of the library's file (edit.hpp), and the statements
/// in their first lines. A wrong one names its mistake, the checks that must fail, and a
/// question that leads on:
///   // RF4: the block in hand at step t is taken for that of rank + t.
///   // Fails: causal "n=3 contiguous causal", layouts
///   // Hint: At step t, whose keys are in your hands?
/// An attack, which is not an honest mistake, has no id and no question, and earns nothing, unless a third
/// line gives the points of the honest part of its work ("// Earns: 12"). An equivalent implementation says
/// why it is one, and which checks ask for more than right values:
///   // Equivalent: blocks travel to the previous rank, with matching labels.
///   // May fail: last-block, window-exchanges

#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "judge/verdict/judge.hpp"

namespace ringcraft::judge {

/// A check that must fail, with a piece of the sentence that it must say.
struct Expected {
  std::string check;     ///< "causal"
  std::string fragment;  ///< may be empty
};

/// A wrong implementation.
struct WrongFile {
  std::filesystem::path path;
  std::string id;        ///< "RF4"; empty for an attack
  std::string sentence;  ///< what is wrong
  std::string question;  ///< empty for an attack
  std::vector<Expected> fails;
  double earns = 0;  ///< points at most, of an attack
};

/// An implementation that is equivalent to the library's.
struct RightFile {
  std::filesystem::path path;
  std::set<std::string> may_fail;  ///< checks
};

/// Every file of tests/misconceptions/NNN_name, by name. Throws Error for a file whose first lines are
/// others.
std::vector<WrongFile> misconceptions_of(const LessonInfo& lesson);
/// The same for tests/attacks/NNN_name.
std::vector<WrongFile> attacks_of(const LessonInfo& lesson);
/// The same for tests/misconceptions/equivalent/NNN_name.
std::vector<RightFile> equivalents_of(const LessonInfo& lesson);

/// How many of these wrong files a run looks at, which is printed unless it is all of them: a third, at most
/// five; under sanitizers, which make a verdict ten times as slow and judge nothing else than the library
/// around the student's file, at most four. A long run: all.
std::size_t looked_at_count(std::size_t all);

/// looked_at_count of these, spread evenly.
template <class File>
std::vector<File> looked_at(const std::vector<File>& all) {
  const std::size_t count = looked_at_count(all.size());
  std::vector<File> some;
  for (std::size_t i = 0; i < count; ++i) some.push_back(all[i * all.size() / count]);
  return some;
}

/// Every second of a lesson's attacks, which is printed: in one lesson the first and those after it, in the
/// next the others, since most attacks are tried in several. A long run: all.
std::vector<WrongFile> tried_attacks(const LessonInfo& lesson);

}  // namespace ringcraft::judge
