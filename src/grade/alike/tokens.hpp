#pragma once
/// @file
/// C++ as tokens in which names, numbers, types, braces and comments make no difference: what stays
/// the same when somebody else's file is renamed and laid out anew. No compiler: any bytes give some tokens.

#include <cstdint>
#include <string_view>
#include <vector>

namespace ringcraft::grade {

/// One token and its place in the text.
struct Token {
  std::uint32_t kind = 0;            ///< equal for tokens that count as the same
  std::uint32_t begin = 0, end = 0;  ///< bytes [begin, end) of the text
};

/// At most `limit` tokens, the first ones. Qualifiers, braces, const, and lines of #include are no token;
/// for and while are one kind, and so are "." and "->".
std::vector<Token> tokens_of(std::string_view text, std::size_t limit);

}  // namespace ringcraft::grade
