#pragma once
/// @file
/// Marks: the place of an exercise's body in the library's own file.
///
///     // BEGIN SOLUTION 104 [merge]
///     ...
///     // END SOLUTION [merge]
///
/// Skeletons are made from them and never stored; the same marks feed the documentation's listings.

#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace ringcraft::judge {

/// One marked body. Lines count from 1.
struct Region {
  int lesson = 0;
  std::string name;    ///< of the function, as in the marks
  int begin = 0;       ///< line of the BEGIN mark
  int end = 0;         ///< line of the END mark
  std::string indent;  ///< blanks in front of the BEGIN mark

  /// Lines between the marks.
  int lines() const { return end - begin - 1; }
};

/// All regions of a source text, in order. Throws Error with file and line for a line that contains SOLUTION
/// but is no mark, an END without BEGIN, a BEGIN without END, nested regions, names that differ, a
/// name used twice, an empty body, and a lesson that does not exist.
std::vector<Region> parse_marks(std::string_view text, const std::string& file, const std::set<int>& lessons);

/// The text with the body of every region of this lesson replaced by a comment and a throw; all marks are
/// left out. Throws Error as parse_marks does, and if the lesson has no region in the text.
std::string skeleton(std::string_view text, const std::string& file, const std::set<int>& lessons,
                     int lesson);

/// The same for every lesson of `sealed`; the other lessons keep their bodies, and their marks. Without a
/// region of these lessons the text is returned as it came.
std::string without_bodies(std::string_view text, const std::string& file, const std::set<int>& lessons,
                           const std::set<int>& sealed);

/// The text without the lines of its marks; its bodies stay.
std::string without_marks(const std::string& text);

}  // namespace ringcraft::judge
