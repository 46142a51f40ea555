// Parses the marks of exercises, and makes skeletons from them.
#include "judge/tree/marks.hpp"

#include <algorithm>
#include <optional>
#include <sstream>

#include "ringcraft/core/error.hpp"
#include "ringcraft/core/shown.hpp"

namespace ringcraft::judge {
namespace {

// A line that is a mark and nothing else.
struct Mark {
  bool begins = false;
  int lesson = 0;  // of a BEGIN
  std::string name, indent;
};

// Removes the word from the front of the text, if it is there.
bool take(std::string_view& text, std::string_view word) {
  if (!text.starts_with(word)) return false;
  text.remove_prefix(word.size());
  return true;
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

// "104 ", three digits and a blank.
bool take_lesson(std::string_view& text, int& lesson) {
  if (text.size() < 4 || !std::all_of(text.begin(), text.begin() + 3, is_digit) || text[3] != ' ')
    return false;
  lesson = std::stoi(std::string(text.substr(0, 3)));
  text.remove_prefix(4);
  return true;
}

// "[name]", and then the end of the line.
bool take_name(std::string_view text, std::string& name) {
  if (text.size() < 3 || text.front() != '[' || text.back() != ']') return false;
  text = text.substr(1, text.size() - 2);
  if (!is_letter(text.front()) ||
      !std::ranges::all_of(text, [](char c) { return is_letter(c) || is_digit(c); }))
    return false;
  name = text;
  return true;
}

// By hand, not by std::regex, which recurses for every letter, so that a long line overflows the stack.
std::optional<Mark> mark_of(std::string_view line) {
  Mark mark;
  const auto indent = std::min(line.find_first_not_of(' '), line.size());
  mark.indent = line.substr(0, indent);
  line.remove_prefix(indent);
  mark.begins = take(line, "// BEGIN SOLUTION ");
  if (mark.begins ? !take_lesson(line, mark.lesson) : !take(line, "// END SOLUTION ")) return {};
  if (!take_name(line, mark.name)) return {};
  return mark;
}

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  std::istringstream stream{std::string(text)};
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

// Walks over the lines and keeps the region that is open.
class Parser {
 public:
  Parser(const std::string& file, const std::set<int>& lessons) : file_(file), lessons_(lessons) {}

  void line(int number, const std::string& text) {
    const std::optional<Mark> mark = mark_of(text);
    if (mark && mark->begins) {
      begin({mark->lesson, mark->name, number, 0, mark->indent});
    } else if (mark) {
      end(number, mark->name);
    } else if (text.find("BEGIN SOLUTION") != text.npos || text.find("END SOLUTION") != text.npos) {
      malformed(number, "'// BEGIN SOLUTION 104 [name]' or '// END SOLUTION [name]' alone on its line", text);
    }
  }

  std::vector<Region> finish() {
    if (open_)
      malformed(open_->begin, "an END for the BEGIN of [" + open_->name + "]", "the end of the file");
    return std::move(regions_);
  }

 private:
  void begin(const Region& region) {
    if (open_)
      malformed(region.begin,
                "the END of [" + open_->name + "], begun in line " + std::to_string(open_->begin),
                "another BEGIN");
    if (!lessons_.contains(region.lesson))
      malformed(region.begin, "the number of a lesson", std::to_string(region.lesson));
    if (std::ranges::any_of(regions_, [&](const Region& other) { return other.name == region.name; }))
      malformed(region.begin, "a name that is used once", "[" + region.name + "] a second time");
    open_ = region;
  }

  void end(int number, const std::string& name) {
    if (!open_) malformed(number, "a BEGIN before this END", "none");
    if (open_->name != name) malformed(number, "the END of [" + open_->name + "]", "[" + name + "]");
    open_->end = number;
    if (open_->lines() == 0) malformed(number, "a body between the marks", "nothing");
    regions_.push_back(*open_);
    open_.reset();
  }

  [[noreturn]] void malformed(int number, const std::string& expected, const std::string& actual) const {
    throw Error(file_ + ":" + std::to_string(number), shown(expected, 200), shown(actual, 100),
                "correct the marks");
  }

  const std::string& file_;
  const std::set<int>& lessons_;
  std::optional<Region> open_;
  std::vector<Region> regions_;
};

std::string replacement(const Region& region) {
  const int lines = region.lines() < 10 ? region.lines() : (region.lines() + 2) / 5 * 5;
  return region.indent + "// TODO: write " + region.name + " here, about " + counted(lines, "line") + ".\n" +
         region.indent + "throw NotWritten(" + std::to_string(region.lesson) + ");\n";
}

enum class OtherMarks : bool { kDropped, kKept };

// The text with the bodies of these lessons replaced; the marks around the other bodies stay or go.
std::string replaced(std::string_view text, const std::vector<Region>& regions, const std::set<int>& out,
                     OtherMarks other) {
  std::string result;
  auto region = regions.begin();
  int number = 0;
  for (const std::string& line : lines_of(text)) {
    ++number;
    const bool inside = region != regions.end() && number >= region->begin;
    const bool mark = inside && (number == region->begin || number == region->end);
    const bool taken = inside && out.contains(region->lesson);
    if (taken && number == region->begin) result += replacement(*region);
    if (!taken && (!mark || other == OtherMarks::kKept)) result += line + "\n";
    if (inside && number == region->end) ++region;
  }
  return result;
}

}  // namespace

std::vector<Region> parse_marks(std::string_view text, const std::string& file,
                                const std::set<int>& lessons) {
  Parser parser(file, lessons);
  int number = 0;
  for (const std::string& line : lines_of(text)) parser.line(++number, line);
  return parser.finish();
}

std::string skeleton(std::string_view text, const std::string& file, const std::set<int>& lessons,
                     int lesson) {
  const std::vector<Region> regions = parse_marks(text, file, lessons);
  if (std::ranges::none_of(regions, [&](const Region& region) { return region.lesson == lesson; }))
    throw Error(file, "marks of lesson " + std::to_string(lesson), "none", "correct the marks");
  return replaced(text, regions, {lesson}, OtherMarks::kDropped);
}

std::string without_bodies(std::string_view text, const std::string& file, const std::set<int>& lessons,
                           const std::set<int>& sealed) {
  const std::vector<Region> regions = parse_marks(text, file, lessons);
  const bool any = std::ranges::any_of(regions, [&](const Region& r) { return sealed.contains(r.lesson); });
  return any ? replaced(text, regions, sealed, OtherMarks::kKept) : std::string(text);
}

std::string without_marks(const std::string& text) {
  std::istringstream lines(text);
  std::string result;
  for (std::string line; std::getline(lines, line);)
    if (line.find("// BEGIN SOLUTION") == line.npos && line.find("// END SOLUTION") == line.npos)
      result += line + "\n";
  return result;
}

}  // namespace ringcraft::judge
