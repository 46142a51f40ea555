// Predict: makes forms with blanks, reads a filled one, and compares it with the computed answers.
#include <cctype>
#include <charconv>
#include <cmath>
#include <memory>
#include <sstream>

#include "judge/checks/lesson.hpp"
#include "judge/puzzle/puzzle_kinds.hpp"
#include "ringcraft/core/error.hpp"
#include "ringcraft/core/shown.hpp"

namespace ringcraft::judge {
namespace {

const std::string kBlank = "___";

std::string words_of(const Form& form) {
  std::string text;
  for (const FormLine& line : form.lines) text += line.text + "\n";
  return text;
}

// An answer of a row: its place, whether it is present and right, and known reasons if it is not.
struct Given {
  std::string row, place, line;
  bool blank, right;
  std::string reasons;
};

double number_of(const TextLine& line, const std::string& word) {
  double value = 0;
  const auto [end, failure] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (failure != std::errc() || end != word.data() + word.size() || !std::isfinite(value))
    line.refuse("a number instead of " + kBlank, word);
  return value;
}

// "Is V missing?" and "Are these bits?" in one: "Is V missing, or are these bits?"
std::string one_question(const std::string& first, std::string other) {
  if (first.empty()) return other;
  other[0] = static_cast<char>(std::tolower(other[0]));
  return first.substr(0, first.size() - 1) + ", or " + other;
}

// One question about all mistakes that lead to a wrong answer, with a blank after it; empty if none is known.
std::string question_about(double answer, const Blank& blank) {
  std::string question;
  for (const KnownMistake& mistake : blank.mistakes)
    if (std::abs(answer - mistake.value) <= blank.tolerance)
      question = one_question(question, mistake.reason);
  return question.empty() ? question : question + " ";
}

// Compares a line of the student with the line of the form.
void read_line(const TextLine& line, const FormLine& asked, std::vector<Given>& answers) {
  const std::vector<std::string> words = lines_of(asked.text, "form").front().words;
  std::size_t next = 0;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string word = i < line.words.size() ? line.words[i] : "";
    if (words[i] != kBlank) {
      if (word != words[i])
        line.refuse("the line '" + asked.text + "' with numbers for its blanks", line.text());
      continue;
    }
    const Blank& blank = asked.blanks.at(next++);
    const bool empty = word == kBlank;
    const double answer = empty ? 0 : number_of(line, word);
    const bool right = !empty && std::abs(answer - blank.want) <= blank.tolerance;
    answers.push_back({asked.row, line.place(), line.text(), empty, right,
                       empty || right ? "" : question_about(answer, blank)});
  }
  if (line.words.size() > words.size()) line.refuse("the end of the line", line.words[words.size()]);
}

// The lines of a form that are more than comments.
std::vector<FormLine> questions(const Form& form) {
  std::vector<FormLine> lines;
  for (const FormLine& line : form.lines)
    if (!lines_of(line.text, "form").empty()) lines.push_back(line);
  return lines;
}

// Rejects a form of another seed, which was not given to this student.
void require_seed(const std::vector<TextLine>& lines, const std::string& file, std::uint64_t seed) {
  const TextLine first = lines.empty() ? TextLine{file, 1, {}} : lines.front();
  const std::string want = "seed " + std::to_string(seed);
  if (first.text() != want)
    first.refuse("the line '" + want + "' of the form that you were given", first.text());
}

std::vector<Given> read(const std::vector<TextLine>& lines, const Form& form, const std::string& file) {
  const std::vector<FormLine> asked = questions(form);
  std::vector<Given> answers;
  for (std::size_t i = 0; i < asked.size(); ++i) {
    if (i == lines.size())
      TextLine{file, lines.back().number + 1, {}}.refuse("the line '" + asked[i].text + "'", "");
    read_line(lines[i], asked[i], answers);
  }
  if (lines.size() > asked.size())
    lines[asked.size()].refuse("the end of the form", lines[asked.size()].text());
  return answers;
}

// Throws Wrong unless all answers of the row are right. No sentence reveals a right number.
void require_right(const std::vector<Given>& answers, const std::string& row) {
  const Given* first_wrong = nullptr;
  const Given* first_blank = nullptr;
  int all = 0, wrong = 0;
  for (const Given& answer : answers) {
    if (answer.row != row) continue;
    ++all;
    wrong += answer.right ? 0 : 1;
    if (answer.blank && first_blank == nullptr) first_blank = &answer;
    if (!answer.blank && !answer.right && first_wrong == nullptr) first_wrong = &answer;
  }
  if (wrong == 0) return;
  const std::string count = std::to_string(wrong) + " of " + counted(all, "answer") + " of this row " +
                            (wrong == 1 ? "is" : "are") + " wrong or blank";
  if (first_wrong != nullptr)
    throw Wrong(sign::kValues, "wrong-answer", "{}: not so: '{}'; {}{}", first_wrong->place,
                first_wrong->line, first_wrong->reasons, count);
  throw Wrong(sign::kValues, "blank", "{}: still to be filled in; {}", first_blank->place, count);
}

// The form with its blanks filled in.
std::string filled(const Form& form) {
  std::string text;
  for (const FormLine& line : form.lines) {
    std::string made = line.text;
    for (const Blank& blank : line.blanks) {
      std::ostringstream number;
      number.precision(10);
      number << blank.want;
      made.replace(made.find(kBlank), kBlank.size(), number.str());
    }
    text += made + "\n";
  }
  return text;
}

}  // namespace

Puzzle prediction(const std::string& id, const std::string& title, const std::string& task,
                  std::function<Form(std::uint64_t seed)> form) {
  const auto rows_of = [=](const Submission& handed_in) {
    const auto answers = std::make_shared<std::vector<Given>>();
    const std::string file = handed_in.file.filename().string();
    std::vector<PuzzleRow> rows{
        {"reads",
         0,
         {},
         "The file is the form that was given; at most its blanks have changed.",
         "Only the ___ are yours; ./ringcraft start writes the form again where the "
         "file is moved away. A form that was started with --seed is checked with it, too.",
         [=, &handed_in] {
           const std::vector<TextLine> lines = lines_of(handed_in);
           const std::uint64_t seed = handed_in.options.seed;
           require_seed(lines, file, seed);
           *answers = read(lines, form(seed), file);
         }}};
    for (PuzzleRow row : form(1).rows) {
      row.needs = {"reads"};
      row.run = [answers, name = row.id] { require_right(*answers, name); };
      rows.push_back(std::move(row));
    }
    return rows;
  };
  return {.id = id,
          .kind = "predict",
          .title = title,
          .task = task,
          .file = id.substr(4) + ".txt",
          .seeded = true,
          .given = [form](std::uint64_t seed) { return words_of(form(seed)); },
          .solved = [form](std::uint64_t seed) { return filled(form(seed)); },
          .rows = rows_of};
}

}  // namespace ringcraft::judge
