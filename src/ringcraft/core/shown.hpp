#pragma once
/// @file
/// Text from outside (a file, a flag) for a sentence that a person reads on a terminal.

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

}  // namespace ringcraft
