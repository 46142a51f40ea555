// Splits a C++ source into preprocessor tokens: literals, names, punctuation.
#include "judge/build/gate/tokens.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace ringcraft::judge {
namespace {

bool is_figure(char c) { return c >= '0' && c <= '9'; }
bool is_of_name(char c) {  // bytes of UTF-8, '$' and the '\' of \u0061 belong to names, too
  const auto byte = static_cast<unsigned char>(c);
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$' || byte >= 0x80;
}
bool ends_line(char c) { return c == '\n' || c == '\r'; }
bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\v' || c == '\f' || c == '\0'; }

// Iterates over a text in which lines that end in a backslash are joined.
class Walk {
 public:
  explicit Walk(std::string_view text) : text_(text) { join(); }

  bool done() const { return at_ >= text_.size(); }
  char now() const { return done() ? '\n' : text_[at_]; }
  char next() const {
    Walk ahead = *this;
    ahead.step();
    return ahead.now();
  }
  int line() const { return line_; }
  void step() {
    plain_step();
    join();
  }
  // The next character, even after a backslash: for raw strings.
  void plain_step() {
    if (done()) return;
    if (text_[at_] == '\n') ++line_;
    ++at_;
  }

 private:
  void join() {
    for (std::size_t end = at_; end < text_.size() && text_[end] == '\\';) {
      ++end;
      while (end < text_.size() && (is_blank(text_[end]) || text_[end] == '\r')) ++end;
      if (end >= text_.size() || text_[end] != '\n') return;
      at_ = ++end;
      ++line_;
    }
  }

  std::string_view text_;
  std::size_t at_ = 0;
  int line_ = 1;
};

// Passes over a comment, if one begins here.
bool skip_comment(Walk& walk) {
  if (walk.now() != '/') return false;
  if (walk.next() == '/') {
    while (!walk.done() && !ends_line(walk.now())) walk.step();
    return true;
  }
  if (walk.next() != '*') return false;
  walk.step(), walk.step();
  while (!walk.done() && !(walk.now() == '*' && walk.next() == '/')) walk.step();
  walk.step(), walk.step();
  return true;
}

// From the opening quote to the closing one, or to the end of the line.
std::string quoted(Walk& walk) {
  const char quote = walk.now();
  std::string text;
  do {
    text += walk.now();
    const bool escapes = walk.now() == '\\';
    walk.step();
    if (escapes && !walk.done() && !ends_line(walk.now())) {
      text += walk.now();
      walk.step();
    }
  } while (!walk.done() && walk.now() != quote && !ends_line(walk.now()));
  if (!walk.done() && walk.now() == quote) {
    text += quote;
    walk.step();
  }
  return text;
}

// R"here( ... )here": from the quote on.
std::string raw_string(Walk& walk) {
  std::string text, closing = ")";
  const auto take = [&] {
    text += walk.now();
    walk.plain_step();
  };
  take();
  while (!walk.done() && walk.now() != '(' && !ends_line(walk.now()) && closing.size() < 18) {
    closing += walk.now();
    take();
  }
  if (walk.now() != '(') return text;  // no raw string: the compiler refuses it
  closing += '"';
  while (!walk.done() && !text.ends_with(closing)) take();
  return text;
}

std::string number(Walk& walk) {
  std::string text;
  do {
    text += walk.now();
    const bool exponent = std::string_view("eEpP").find(walk.now()) != std::string_view::npos;
    walk.step();
    if ((exponent && (walk.now() == '+' || walk.now() == '-')) ||
        (walk.now() == '\'' && (is_of_name(walk.next()) || is_figure(walk.next())))) {
      text += walk.now();
      walk.step();
    }
  } while (!walk.done() && (is_of_name(walk.now()) || is_figure(walk.now()) || walk.now() == '.'));
  return text;
}

std::string name(Walk& walk) {
  std::string text;
  while (!walk.done() && (is_of_name(walk.now()) || is_figure(walk.now()) || walk.now() == '\\')) {
    text += walk.now();
    walk.step();
  }
  return text;
}

std::string punctuation(Walk& walk) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 7> kPairs{
      {{"##", "##"}, {"::", "::"}, {"%:", "#"}, {"<:", "["}, {":>", "]"}, {"<%", "{"}, {"%>", "}"}}};
  const char both[] = {walk.now(), walk.next()};
  const auto pair = std::ranges::find(kPairs, std::string_view(both, 2),
                                      &std::pair<std::string_view, std::string_view>::first);
  walk.step();
  if (pair == kPairs.end()) return {both[0]};
  walk.step();
  if (pair->first == "%:" && walk.now() == '%' && walk.next() == ':') {
    walk.step(), walk.step();
    return "##";
  }
  return std::string(pair->second);
}

// Whether a header's name comes next: there "/*" begins no comment, and '\\' escapes nothing.
bool expects_header(const std::vector<Token>& before) {
  const auto back = [&](std::size_t i) { return before.size() < i ? Token{} : before[before.size() - i]; };
  if (back(1).is("(")) return back(2).text.starts_with("__has_");
  const Token word = back(1);
  return back(2).is("#") && back(2).begins_line &&
         (word.is("include") || word.is("include_next") || word.is("import") || word.is("embed"));
}

std::string header_name(Walk& walk) {
  const char closing = walk.now() == '<' ? '>' : '"';
  std::string text;
  do {
    text += walk.now();
    walk.step();
  } while (!walk.done() && walk.now() != closing && !ends_line(walk.now()));
  if (walk.now() != closing || walk.done()) return text;
  walk.step();
  return text + closing;
}

bool opens_raw_string(const std::string& name) {
  return name == "R" || name == "u8R" || name == "uR" || name == "UR" || name == "LR";
}
bool is_prefix(const std::string& name) { return name == "u8" || name == "u" || name == "U" || name == "L"; }

}  // namespace

std::vector<Token> tokens_of(std::string_view text) {
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);  // the mark of UTF-8 is no part of it
  std::vector<Token> tokens;
  bool begins_line = true;
  for (Walk walk(text); !walk.done();) {
    if (ends_line(walk.now())) begins_line = true;
    if (ends_line(walk.now()) || is_blank(walk.now())) {
      walk.step();
      continue;
    }
    if (skip_comment(walk)) continue;
    Token token{Token::Kind::kPunctuation, "", walk.line(), std::exchange(begins_line, false)};
    if ((walk.now() == '<' || walk.now() == '"') && expects_header(tokens)) {
      token.kind = Token::Kind::kString;
      token.text = header_name(walk);
    } else if (is_figure(walk.now()) || (walk.now() == '.' && is_figure(walk.next()))) {
      token.kind = Token::Kind::kNumber;
      token.text = number(walk);
    } else if (is_of_name(walk.now()) || (walk.now() == '\\' && (walk.next() == 'u' || walk.next() == 'U'))) {
      token.kind = Token::Kind::kName;
      token.text = name(walk);
      const bool raw = opens_raw_string(token.text) && walk.now() == '"';
      if (raw || (is_prefix(token.text) && (walk.now() == '"' || walk.now() == '\''))) {
        token.kind = Token::Kind::kString;
        token.text += raw ? raw_string(walk) : quoted(walk);
      }
    } else if (walk.now() == '"' || walk.now() == '\'') {
      token.kind = Token::Kind::kString;
      token.text = quoted(walk);
    } else {
      token.text = punctuation(walk);
    }
    tokens.push_back(std::move(token));
  }
  return tokens;
}

}  // namespace ringcraft::judge
