#pragma once
/// @file
/// The tokens of a C++ source, as a preprocessor finds them: lines joined by a backslash, comments left out,
/// digraphs spelled out. This separates comments and strings from code, and no other spelling can hide
/// what a compiler reads as code.

#include <string>
#include <string_view>
#include <vector>

namespace ringcraft::judge {

/// One of them.
struct Token {
  enum class Kind : char { kName, kNumber, kString, kPunctuation };

  Kind kind = Kind::kPunctuation;
  std::string text;          ///< "asm"; of a string or a character, and of a header's name, with its quotes
  int line = 0;              ///< counted from 1
  bool begins_line = false;  ///< a '#' here begins a directive

  bool is(std::string_view spelled) const { return text == spelled; }
  bool is_name() const { return kind == Kind::kName; }
};

/// All tokens of a text. A character that begins no token by the rules is punctuation.
std::vector<Token> tokens_of(std::string_view text);

}  // namespace ringcraft::judge
