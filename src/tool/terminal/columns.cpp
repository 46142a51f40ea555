// Measures widths of text and folds long lines.
#include "tool/terminal/columns.hpp"

#include <algorithm>

namespace ringcraft::tool {
namespace {

// Length in bytes of the character or escape sequence at `at`, and whether it takes a column.
struct Cell {
  std::size_t bytes;
  bool visible;
};

Cell cell_at(std::string_view line, std::size_t at) {
  if (line[at] == '\x1b') {
    const auto end = line.find('m', at);
    return {(end == line.npos ? line.size() : end + 1) - at, false};
  }
  std::size_t bytes = 1;
  while (at + bytes < line.size() && (static_cast<unsigned char>(line[at + bytes]) & 0xC0) == 0x80) ++bytes;
  return {bytes, true};
}

// The byte after the first `columns` columns.
std::size_t byte_behind(std::string_view line, std::size_t columns) {
  std::size_t at = 0;
  while (at < line.size()) {
    const Cell cell = cell_at(line, at);
    if (cell.visible && columns-- == 0) break;
    at += cell.bytes;
  }
  return at;
}

bool is_code(std::string_view line) {
  const auto bar = line.find('|');
  return bar != line.npos && bar > 0 && line.find_first_not_of(" 0123456789") == bar;
}

// The column at which a folded line continues: below "hint: " or the last column that two blanks set off,
// else below its text.
std::size_t hanging_indent(std::string_view line, std::size_t width) {
  const std::size_t text = std::min(line.find_first_not_of(' '), line.size());
  std::size_t indent = text;
  for (auto gap = line.find("  ", text); gap != line.npos; gap = line.find("  ", gap + 1)) {
    const auto word = line.find_first_not_of(' ', gap);
    if (word == line.npos) break;
    if (const auto column = columns_of(line.substr(0, word)); column <= width * 2 / 3) indent = column;
  }
  for (const std::string_view label : {"hint: ", "likely: ", "or:     ", "and:    "})
    if (line.substr(text).starts_with(label)) indent = text + label.size();
  return std::min(indent, width * 2 / 3);
}

void fold(std::string& into, std::string_view line, std::size_t width) {
  const std::size_t indent = hanging_indent(line, width);
  std::string left(line);
  while (columns_of(left) > width && !is_code(line)) {
    const std::size_t limit = byte_behind(left, width);
    auto blank = left.rfind(' ', limit);
    const auto first = left.find_first_not_of(' ');
    if (blank == left.npos || blank <= first || columns_of(left.substr(0, blank)) <= indent)
      blank = left.find(' ', limit);  // a word that is wider than the terminal
    if (blank == left.npos) break;
    const auto word = left.find_first_not_of(' ', blank);
    if (word == left.npos) break;
    into += left.substr(0, left.find_last_not_of(' ', blank) + 1) + "\n";
    left = std::string(indent, ' ') + left.substr(word);
  }
  into += left + "\n";
}

}  // namespace

std::size_t columns_of(std::string_view line) {
  std::size_t columns = 0;
  for (std::size_t at = 0; at < line.size();) {
    const Cell cell = cell_at(line, at);
    columns += cell.visible;
    at += cell.bytes;
  }
  return columns;
}

std::string cut(std::string_view line, std::size_t width) {
  if (columns_of(line) <= width) return std::string(line);
  return std::string(line.substr(0, byte_behind(line, width - std::min<std::size_t>(width, 3)))) + "...";
}

std::string folded(std::string_view text, std::size_t width) {
  std::string result;
  while (!text.empty()) {
    const auto end = std::min(text.find('\n'), text.size());
    fold(result, text.substr(0, end), std::max<std::size_t>(width, 20));
    text.remove_prefix(std::min(text.size(), end + 1));
  }
  return result;
}

std::size_t lines_of(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count(text, '\n'));
}

}  // namespace ringcraft::tool
