#pragma once
/// @file
/// Building blocks for a new puzzle: texts read line by line with the place of every mistake, and the two
/// kinds that need nothing else, repairs and forms.

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "judge/puzzle/puzzle.hpp"
#include "judge/wire/exercise.hpp"

namespace ringcraft::judge {

// ---- texts

/// A line of a student's text that is more than a comment. `#` begins a comment.
struct TextLine {
  std::string file;  ///< its name, for sentences
  int number = 0;    ///< counts from 1
  std::vector<std::string> words;

  /// "predict.txt:14"
  std::string place() const { return file + ":" + std::to_string(number); }
  /// The words with single blanks between.
  std::string text() const;
  /// Throws Error "FILE:LINE: expected ..., got '...'; ...".
  [[noreturn]] void refuse(const std::string& expected, const std::string& actual) const;
  /// A whole number from low to high; `what` names it.
  Index number_in(const std::string& word, Index low, Index high, const std::string& what) const;
};

/// The lines that are more than comments. Throws Error for a text with more than 1000 lines.
std::vector<TextLine> lines_of(const Submission& submission);
/// The same for a text that is not a student's.
std::vector<TextLine> lines_of(std::string_view text, const std::string& file);

/// A file beside the puzzle's README.
std::string given_file(const std::string& puzzle_id, const std::string& name);

// ---- find the bug

/// A file of a lesson's exercise with one mistake in it, `file` in the puzzle's folder. The lesson's own
/// checks judge it, and one more: at most `most_changes` lines differ from the given file.
Puzzle repair(const std::string& id, const std::string& title, const std::string& task, int most_changes);

/// Lines of `after` that are new or changed, or lines of `before` that are missing, whichever are more.
/// Comments, empty lines and blanks do not count.
int changed_lines(std::string_view before, std::string_view after);

// ---- predict

/// A mistake that many make.
struct KnownMistake {
  double value;        ///< the number that it leads to
  std::string reason;  ///< "Is V missing?": a question that does not tell the right number
};

/// A number that the student writes instead of a `___`.
struct Blank {
  double want;                              ///< the right number
  double tolerance = 0;                     ///< largest error that passes
  std::vector<KnownMistake> mistakes = {};  ///< those within the tolerance of a wrong answer explain it
};

/// One line of a form: words, of which some are `___`. A line without any is fixed.
struct FormLine {
  std::string row;            ///< the row that its blanks belong to; empty: comments and fixed lines
  std::string text;           ///< in the form that the student gets
  std::vector<Blank> blanks;  ///< one for each `___`
};

/// Questions with computed answers, and the rows that they are graded by. The first line with words is
/// "seed N", and N must be the seed that is asked for: the form is generated again from it.
struct Form {
  std::vector<FormLine> lines;
  std::vector<PuzzleRow> rows;  ///< without run
};

/// Collects the lines of a form.
class Sheet {
 public:
  /// The head of the form of this puzzle: what to do with it, and its seed.
  void begin(const std::string& id, std::uint64_t seed) {
    say(id + ": replace each ___ by a number and leave all other words as they are.");
    say("Comments after a # are yours. Then: ./ringcraft check " + id);
    fixed("seed " + std::to_string(seed));
    gap();
  }
  /// A comment.
  void say(const std::string& comment) { lines_.push_back({"", "# " + comment, {}}); }
  /// An empty line.
  void gap() { lines_.push_back({"", "", {}}); }
  /// A line without blanks.
  void fixed(const std::string& text) { lines_.push_back({"", text, {}}); }
  /// A line of this row whose words already hold their `___`.
  void line(const std::string& row, const std::string& text, std::vector<Blank> blanks) {
    lines_.push_back({row, text, std::move(blanks)});
  }
  /// A line of this row: words, and one blank after them for each number.
  template <class Numbers>
  void ask(const std::string& row, const std::string& words, const Numbers& numbers, double tolerance = 0) {
    FormLine line{row, words, {}};
    for (const auto number : numbers) {
      line.text += " ___";
      line.blanks.push_back({static_cast<double>(number), tolerance, {}});
    }
    lines_.push_back(line);
  }
  /// All of them so far.
  std::vector<FormLine> lines() const { return lines_; }

 private:
  std::vector<FormLine> lines_;
};

/// A puzzle that is a form, and solved by the same form with its blanks filled in.
Puzzle prediction(const std::string& id, const std::string& title, const std::string& task,
                  std::function<Form(std::uint64_t seed)> form);

// ---- the puzzles

/// The puzzle of this id. Defined in lessons/NNN_name/puzzles/NAME/puzzle.cpp, which is compiled with its id
/// from the folder's name.
template <ExerciseName kId>
Puzzle puzzle_of();

}  // namespace ringcraft::judge
