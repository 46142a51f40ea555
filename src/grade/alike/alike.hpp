#pragma once
/// @file
/// Finds hand-ins that have much in common: a hint for a person, and no verdict.

#include <string>
#include <vector>

#include "grade/record/record.hpp"

namespace ringcraft::grade {

/// The text of one hand-in.
struct Text {
  std::string student;  ///< its key
  std::string text;
  std::string name = {};  ///< of the student, for a page; empty: the key
};

/// The share from which a pair is worth a look. Of 600 pairs of files that different people wrote for the
/// same lesson, none shares more than 0.71; of a copy that is renamed and reordered throughout, 0.78 is left
/// (tests/grade/alike_test.cpp).
inline constexpr double kMuchAlike = 0.75;

/// Pairs of texts for one exercise with at least `share` of their own tokens in common, the most alike first.
/// Compared are runs of tokens (tiling.hpp), with names, numbers and comments made alike, so that renaming
/// and reordering change little. Text of `given` (the file that everyone began with, the library's own) is
/// nobody's own, and neither is what most of the class has; a text with little else is like no other.
std::vector<Alike> alike(const std::string& exercise, const std::vector<Text>& texts,
                         const std::vector<std::string>& given, double share = kMuchAlike);

/// Texts that three or more have, which alike() takes for common ones if they are many, and the library's own
/// text, even if one alone has it. The first of `given` is what everyone began with, which is no work.
std::vector<Same> same(const std::string& exercise, const std::vector<Text>& texts,
                       const std::vector<std::string>& given);

/// The pair side by side, as self-contained HTML: what its share counts is marked, and what was given, or
/// is common in the class, is pale. `texts` and `given` are those that alike() had.
std::string side_by_side_page(const Alike& pair, const std::vector<Text>& texts,
                              const std::vector<std::string>& given);

}  // namespace ringcraft::grade
