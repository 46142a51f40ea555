// Converts Markdown to plain text for a terminal: as much of it as hints use.
#include <algorithm>
#include <array>
#include <cctype>
#include <sstream>
#include <utility>

#include "ringcraft/core/shown.hpp"
#include "tool/terminal/columns.hpp"

namespace ringcraft::tool {
namespace {

// "\ln" -> "ln", "e^{a + b}" -> "e^(a + b)", "-\infty" -> "-inf".
std::string plain_formula(std::string text) {
  static constexpr std::array<std::pair<const char*, const char*>, 16> kSigns{{{"\\infty", "inf"},
                                                                               {"\\cdot", "*"},
                                                                               {"\\times", "x"},
                                                                               {"\\leq", "<="},
                                                                               {"\\geq", ">="},
                                                                               {"\\le", "<="},
                                                                               {"\\ge", ">="},
                                                                               {"\\neq", "!="},
                                                                               {"\\in", "in"},
                                                                               {"\\sqrt", "sqrt"},
                                                                               {"\\qquad", " "},
                                                                               {"\\quad", " "},
                                                                               {"\\mathrm", ""},
                                                                               {"\\text", ""},
                                                                               {"\\,", " "},
                                                                               {"\\", ""}}};
  for (const auto& [sign, word] : kSigns) text = replaced(std::move(text), sign, word);
  std::string result;
  for (std::size_t at = 0; at < text.size(); ++at) {  // braces around one sign go, others become parentheses
    if (text[at] != '{') {
      result += text[at];
      continue;
    }
    const auto end = text.find('}', at);
    if (end == text.npos) break;
    const std::string inside = text.substr(at + 1, end - at - 1);
    const bool word = std::ranges::all_of(inside, [](unsigned char c) { return std::isalnum(c) != 0; });
    result += word ? inside : "(" + inside + ")";
    at = end;
  }
  return result;
}

// Formulas, emphasis and links of one paragraph; code between backticks stays as it is.
std::string plain_words(const std::string& text) {
  std::string result;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char sign = text[at];
    const auto end = text.find(sign, at + 1);
    if (sign == '`' && end != text.npos) {
      result += text.substr(at, end - at + 1);
      at = end;
    } else if (sign == '$' && end != text.npos) {
      result += plain_formula(text.substr(at + 1, end - at - 1));
      at = end;
    } else if (sign == '*' && (at + 1 < text.size() && text[at + 1] != ' ')) {
      continue;  // the beginning of emphasis
    } else if (sign == '*' && at > 0 && text[at - 1] != ' ') {
      continue;  // its end
    } else if (const auto link = text.find("](", at); sign == '[' && link != text.npos) {
      result += text.substr(at + 1, link - at - 1);
      at = std::min(text.find(')', link), text.size());
    } else {
      result += sign;
    }
  }
  return result;
}

// Columns of "- ", "* " or "12. " in front of an item, its indent included; 0 if the line is none.
std::size_t item_width(const std::string& line) {
  const auto start = line.find_first_not_of(' ');
  if (start == line.npos) return 0;
  const auto digits = line.find_first_not_of("0123456789", start);
  if (line.compare(start, 2, "- ") == 0 || line.compare(start, 2, "* ") == 0) return start + 2;
  if (digits > start && digits != line.npos && line.compare(digits, 2, ". ") == 0) return digits + 2;
  return 0;
}

// One paragraph or list item, filled to the width after its indent.
class Paragraph {
 public:
  Paragraph(std::string& into, std::size_t width) : into_(into), width_(width) {}
  void begin(std::string mark) {
    end();
    mark_ = std::move(mark);
  }
  void add(const std::string& line) { words_ += (words_.empty() ? "" : " ") + line; }
  void end() {
    if (words_.empty()) return;
    std::istringstream words(plain_words(words_));
    std::string line = mark_;
    const std::string indent(mark_.size(), ' ');
    bool fresh = true;
    for (std::string word; words >> word; fresh = false) {
      if (!fresh && columns_of(line) + 1 + columns_of(word) > width_) {
        into_ += line + "\n";
        line = indent;
        fresh = true;
      }
      line += (fresh ? "" : " ") + word;
    }
    into_ += line + "\n";
    words_.clear();
    mark_.clear();
  }

 private:
  std::string& into_;
  std::size_t width_;
  std::string mark_, words_;
};

}  // namespace

std::string plain_of_markdown(std::string_view page, std::size_t width) {
  std::string result;
  Paragraph paragraph(result, width);
  std::istringstream lines{std::string(page)};
  bool code = false;
  for (std::string line; std::getline(lines, line);) {
    if (line.ends_with('\r')) line.pop_back();
    if (line.starts_with("```")) {
      paragraph.end();
      code = !code;
    } else if (code) {
      result += "    " + line + "\n";
    } else if (line.find_first_not_of(' ') == line.npos) {
      paragraph.end();
      result += "\n";
    } else if (const std::size_t mark = item_width(line); mark > 0) {
      paragraph.begin(line.substr(0, mark));
      paragraph.add(line.substr(mark));
    } else {
      paragraph.add(line.substr(line.find_first_not_of(" #")));
    }
  }
  paragraph.end();
  return result;
}

}  // namespace ringcraft::tool
