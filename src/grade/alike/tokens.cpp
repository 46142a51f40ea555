// Cuts C++ into tokens of few kinds.
#include "grade/alike/tokens.hpp"

#include <algorithm>
#include <array>
#include <string>

namespace ringcraft::grade {
namespace {

// Kinds of tokens: a letter of punctuation is its own; the others follow.
enum Kind : std::uint32_t { kName = 256, kLiteral, kLoop, kKeyword };

// These shape a program, whatever its names are. Their index is part of their kind.
constexpr std::array<std::string_view, 16> kShaping = {
    "break", "case", "catch",  "class",  "continue", "delete",   "else",  "enum",
    "if",    "new",  "return", "struct", "switch",   "template", "throw", "try"};
constexpr std::array<std::string_view, 3> kLoops = {"do", "for", "while"};
// These come and go with somebody's habits.
constexpr std::array<std::string_view, 10> kHabits = {"const",    "constexpr", "inline", "mutable",
                                                      "noexcept", "static",    "this",   "typename",
                                                      "unsigned", "volatile"};

template <std::size_t n>
bool among(const std::array<std::string_view, n>& words, std::string_view word) {
  return std::ranges::find(words, word) != words.end();
}

bool is_blank(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
         static_cast<unsigned char>(c) >= 0x80;
}

// Walks over a text and knows where a token ends.
class TokenReader {
 public:
  explicit TokenReader(std::string_view text) : text_(text) {}

  std::vector<Token> read(std::size_t limit) {
    std::vector<Token> tokens;
    while (skip_what_is_no_token(), at_ < text_.size() && tokens.size() < limit) {
      const std::size_t begin = at_;
      if (const std::uint32_t kind = next(); kind != 0)
        tokens.push_back({kind, static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(at_)});
    }
    return tokens;
  }

 private:
  bool here(std::string_view word) const { return text_.substr(at_).starts_with(word); }
  void skip_past(std::string_view word) {
    const std::size_t found = text_.find(word, at_);
    at_ = found == text_.npos ? text_.size() : found + word.size();
  }
  // To the end of the line; a line that ends in a backslash goes on.
  void skip_line() {
    do {
      skip_past("\n");
    } while (at_ >= 2 && at_ < text_.size() && text_[at_ - 2] == '\\');
  }
  bool begins_line() const {
    const std::size_t before = text_.find_last_not_of(" \t", at_ == 0 ? text_.npos : at_ - 1);
    return at_ == 0 || before == text_.npos || text_[before] == '\n';
  }

  void skip_what_is_no_token() {
    for (std::size_t before = text_.npos; before != at_ && at_ < text_.size();) {
      before = at_;
      if (is_blank(text_[at_]) || text_[at_] == '\\')
        ++at_;
      else if (here("//"))
        skip_line();
      else if (here("/*"))
        at_ += 2, skip_past("*/");
      else if (text_[at_] == '#' && begins_line() && includes())
        skip_line();
    }
  }
  bool includes() const {
    const std::size_t word = text_.find_first_not_of(" \t", at_ + 1);
    return word != text_.npos && text_.substr(word).starts_with("include");
  }

  // Reads the token that begins here, and returns its kind; 0 if it counts for nothing.
  std::uint32_t next() {
    const char first = text_[at_];
    if (here("R\"")) return raw_string();
    if (first == '"' || first == '\'') return quoted(first);
    if (is_digit(first)) return number();
    if (is_letter(first)) return word();
    if (here("::") || here("->")) {
      at_ += 2;
      return first == ':' ? 0 : '.';
    }
    ++at_;
    return first == '{' || first == '}' ? 0 : static_cast<unsigned char>(first);
  }

  std::uint32_t raw_string() {
    const std::size_t open = text_.find('(', at_);
    const std::string close =
        ")" + std::string(text_.substr(at_ + 2, std::min<std::size_t>(open - at_ - 2, 16))) + "\"";
    skip_past(close);
    return kLiteral;
  }
  std::uint32_t quoted(char quote) {
    for (++at_; at_ < text_.size() && text_[at_] != quote && text_[at_] != '\n'; ++at_)
      if (text_[at_] == '\\') ++at_;
    at_ = std::min(at_ + 1, text_.size());
    return kLiteral;
  }
  std::uint32_t number() {
    while (at_ < text_.size() &&
           (is_digit(text_[at_]) || is_letter(text_[at_]) || text_[at_] == '.' || text_[at_] == '\''))
      ++at_;
    return kLiteral;
  }
  std::uint32_t word() {
    const std::size_t begin = at_;
    while (at_ < text_.size() && (is_letter(text_[at_]) || is_digit(text_[at_]))) ++at_;
    const std::string_view word = text_.substr(begin, at_ - begin);
    if (among(kHabits, word)) return 0;
    if (among(kLoops, word)) return word == "do" ? 0u : kLoop;
    if (const auto found = std::ranges::find(kShaping, word); found != kShaping.end())
      return kKeyword + static_cast<std::uint32_t>(found - kShaping.begin());
    return here("::") ? 0u : kName;  // a qualifier
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace

std::vector<Token> tokens_of(std::string_view text, std::size_t limit) {
  return TokenReader(text).read(limit);
}

}  // namespace ringcraft::grade
