#pragma once
/// @file
/// Finds hand-ins that have much in common: a hint for a person, and no verdict.

#include <string>
#include <utility>
#include <vector>

#include "grade/record/record.hpp"

namespace ringcraft::grade {

/// The text of one hand-in.
struct Text {
  std::string student;  ///< its key
  std::string text;
};

/// Pairs of texts for one exercise with at least `share` of their tokens in common. Compared are runs of
/// tokens, with names, numbers and comments made alike, so that renaming and reordering change little; what
/// `given` (the file that everyone began with) and `known` (the library's own) contain does not count, and
/// neither does what most of the class has. Most alike first.
std::vector<Alike> alike(const std::string& exercise, const std::vector<Text>& texts,
                         const std::vector<std::string>& given, double share = 0.6);

/// Both texts side by side, as self-contained HTML, with what they have in common marked.
std::string side_by_side_page(const Alike& pair, const std::string& one, const std::string& other,
                              const std::vector<std::string>& given);

}  // namespace ringcraft::grade
