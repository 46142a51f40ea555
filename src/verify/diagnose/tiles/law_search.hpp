#pragma once
/// @file
/// Searches laws. A law has one word for each place where a program may contain a mistake; word 0 is right.
/// One wrong word, or two at different places, must give all numbers.

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "verify/report/report.hpp"

namespace ringcraft::verify {

/// A place with its words; the first one is right and has no text.
struct LawPlace {
  std::string id, question;
  std::vector<std::string> words;
  std::map<std::size_t, std::string> known = {};  ///< ids of words that have a cause elsewhere, too
};

/// The texts of words that have a member `words`, after that of the right one.
template <class Words>
std::vector<std::string> texts_of(const Words& words) {
  std::vector<std::string> texts{""};
  for (const auto& word : words) texts.emplace_back(word.words);
  return texts;
}

/// A word for each place.
using LawChoice = std::vector<std::size_t>;

/// The laws with as few wrong words as possible that `gives` accepts, in the order of the words.
std::vector<Cause> causes_by_law(const std::vector<LawPlace>& places,
                                 const std::function<bool(const LawChoice&)>& gives);

}  // namespace ringcraft::verify
