// Runs the rows of a puzzle in order, and splits students' texts into lines and words.
#include <algorithm>
#include <charconv>
#include <map>
#include <sstream>

#include "judge/checks/lesson.hpp"
#include "judge/puzzle/puzzle_kinds.hpp"
#include "ringcraft/core/error.hpp"
#include "ringcraft/core/shown.hpp"

namespace ringcraft::judge {
namespace {

using verify::ReportRow;
using verify::Status;

constexpr std::size_t kMostLines = 1000;

// The reason why a row is not tried; empty if it is.
std::string obstacle(const std::string& puzzle_id, const PuzzleRow& row,
                     const std::map<std::string, Status>& statuses) {
  for (const std::string& need : row.needs)
    if (statuses.at(need) != Status::kPassed) return "not tried: it needs " + puzzle_id + "." + need;
  return {};
}

}  // namespace

std::vector<ReportRow> judged(const std::string& puzzle_id, const std::vector<PuzzleRow>& rows) {
  std::vector<ReportRow> report;
  std::map<std::string, Status> statuses;
  for (const PuzzleRow& row : rows) {
    ReportRow& made = report.emplace_back();
    made.id = puzzle_id + "." + row.id;
    made.claim = row.claim;
    made.weight = row.weight;
    made.sentence = obstacle(puzzle_id, row, statuses);
    if (made.sentence.empty()) {
      made.status = Status::kFailed;
      made.hint = row.hint;
      try {
        row.run();
        made.status = Status::kPassed;
      } catch (const Wrong& wrong) {
        made.sentence = wrong.sentence();
      } catch (const Error& error) {
        made.sentence = error.what();
      }
    }
    statuses[row.id] = made.status;
  }
  return report;
}

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
