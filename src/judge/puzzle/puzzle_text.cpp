// Splits students' texts into lines and words.
#include <algorithm>
#include <charconv>
#include <sstream>

#include "judge/checks/lesson.hpp"
#include "judge/puzzle/puzzle_kinds.hpp"
#include "ringcraft/core/error.hpp"
#include "ringcraft/core/shown.hpp"

namespace ringcraft::judge {
namespace {

constexpr std::size_t kMostLines = 1000;

}  // namespace

std::string TextLine::text() const {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

void TextLine::refuse(const std::string& expected, const std::string& actual) const {
  throw Error(place(), expected, actual.empty() ? "nothing" : "'" + shown(actual) + "'",
              "the README of the exercise shows the form");
}

Index TextLine::number_in(const std::string& word, Index low, Index high, const std::string& what) const {
  Index value = 0;
  const auto [end, failure] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (failure != std::errc() || end != word.data() + word.size() || value < low || value > high)
    refuse(what + " from " + std::to_string(low) + " to " + std::to_string(high), word);
  return value;
}

std::vector<TextLine> lines_of(std::string_view text, const std::string& file) {
  std::vector<TextLine> lines;
  std::istringstream stream{std::string(text)};
  TextLine line{file, 0, {}};
  for (std::string each; std::getline(stream, each);) {
    if (static_cast<std::size_t>(++line.number) > kMostLines)
      line.refuse("at most " + std::to_string(kMostLines) + " lines", "more");
    std::istringstream words(each.substr(0, each.find('#')));
    line.words.clear();
    for (std::string word; words >> word;) line.words.push_back(word);
    if (!line.words.empty()) lines.push_back(line);
  }
  return lines;
}

std::vector<TextLine> lines_of(const Submission& submission) {
  return lines_of(submission.text, submission.file.filename().string());
}

}  // namespace ringcraft::judge
