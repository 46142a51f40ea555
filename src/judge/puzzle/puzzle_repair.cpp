// Find the bug: judges a repaired file by the lesson's own checks, and counts the lines that differ.
#include <algorithm>
#include <utility>

#include "judge/build/gate/tokens.hpp"
#include "judge/checks/lesson.hpp"
#include "judge/puzzle/puzzle_kinds.hpp"
#include "ringcraft/core/shown.hpp"

namespace ringcraft::judge {
namespace {

// The lines token by token, as a compiler reads them; lines without tokens are left out.
std::vector<std::string> code_of(std::string_view text) {
  std::vector<std::string> lines;
  int line = 0;
  for (const Token& token : tokens_of(text)) {
    if (std::exchange(line, token.line) != token.line) lines.emplace_back();
    lines.back() += token.text + " ";
  }
  return lines;
}

// Length of the longest common subsequence, a row of the usual table at a time.
std::size_t common(const std::vector<std::string>& a, const std::vector<std::string>& b) {
  std::vector<std::size_t> before(b.size() + 1, 0), now(b.size() + 1, 0);
  for (const std::string& line : a) {
    for (std::size_t j = 0; j < b.size(); ++j)
      now[j + 1] = line == b[j] ? before[j] + 1 : std::max(before[j + 1], now[j]);
    before.swap(now);
  }
  return before.back();
}

}  // namespace

int changed_lines(std::string_view before, std::string_view after) {
  const std::vector<std::string> a = code_of(before), b = code_of(after);
  return static_cast<int>(std::max(a.size(), b.size()) - common(a, b));
}

Puzzle repair(const std::string& id, const std::string& title, const std::string& task, int most_changes) {
  Puzzle puzzle{.id = id,
                .kind = "find the bug",
                .title = title,
                .task = task,
                .file = "",
                .given = {},
                .runs_checks = true,
                .rows = {}};
  puzzle.file = puzzle.name() + ".cpp";
  const std::string file = puzzle.file;
  puzzle.given = [=](std::uint64_t) { return given_file(id, file); };
  puzzle.rows = [=](const Submission& handed_in) {
    std::vector<std::string> all;
    for (const Check& each : checks_of(lesson_numbered(std::stoi(id)))) all.push_back(each.id);
    return std::vector<PuzzleRow>{
        {"repaired", 3, all, "The mistake is found: every check of the lesson passes.", "", [] {}},
        {"kept",
         1,
         {"repaired"},
         "It is a repair: at most " + counted(most_changes, "line") + " differ from the file that was given.",
         "The mistake is small; put the other lines back, and change only what must change.",
         [=, &handed_in] {
           const int changes = changed_lines(given_file(id, file), handed_in.text);
           if (changes > most_changes)
             throw Wrong(sign::kValues, "too-many-lines",
                         "{} differ from the given file, and {} are more than enough",
                         Shown{static_cast<double>(changes), counted(changes, "line")}, most_changes);
         }}};
  };
  return puzzle;
}

}  // namespace ringcraft::judge
