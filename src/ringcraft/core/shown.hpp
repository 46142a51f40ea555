#pragma once
/// @file
/// Parts of a sentence that a person reads on a terminal: text from outside (a file, a flag), and counts.

#include <string>
#include <string_view>

namespace ringcraft {

/// At most `limit` bytes of the text, with "..." behind what was cut; control characters are replaced by '?',
/// so that nothing moves the cursor or colours the screen. No letter of UTF-8 is cut in two.
inline std::string shown(std::string_view text, std::size_t limit = 60) {
  std::size_t length = text.size() < limit ? text.size() : limit;
  while (length > 0 && length < text.size() && (static_cast<unsigned char>(text[length]) & 0xC0) == 0x80)
    --length;
  std::string result(text.substr(0, length));
  for (char& c : result)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) c = '?';
  return length < text.size() ? result + "..." : result;
}

/// "1 token", "3 tokens": for things whose plural ends in s.
template <class Count>
std::string counted(Count count, std::string_view thing) {
  return std::to_string(count) + " " + std::string(thing) + (count == 1 ? "" : "s");
}

/// "101, 104": numbers in the order given.
template <class Numbers>
std::string listed(const Numbers& numbers) {
  std::string text;
  for (const auto number : numbers) text += (text.empty() ? "" : ", ") + std::to_string(number);
  return text;
}

}  // namespace ringcraft
