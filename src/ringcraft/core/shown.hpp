#pragma once
/// @file
/// Parts of a sentence that a person reads on a terminal: text from outside (a file, a flag), and counts.

#include <string>
#include <string_view>

namespace ringcraft {

/// Whether this letter of two to four bytes of UTF-8 changes the order of the letters around it, ends a line
/// or has no width: a terminal would show a text other than the actual one.
inline bool misleads(std::string_view letter) {
  if (letter == "\xC2\xAD" || letter == "\xD8\x9C" || letter == "\xEF\xBB\xBF")
    return true;  // U+AD, 61C, FEFF
  if (letter.starts_with("\xF3\xA0\x80") || letter.starts_with("\xF3\xA0\x81"))
    return true;  // U+E0000 to E007F
  if (!letter.starts_with("\xE2")) return false;
  const auto last = static_cast<unsigned char>(letter.back());
  return letter[1] == '\x80' ? (last >= 0x8B && last <= 0x8F) || (last >= 0xA8 && last <= 0xAE)
                             : letter[1] == '\x81' && last >= 0xA0 && last <= 0xA9;
}

/// Bytes of the letter of UTF-8 that the text begins with; 0 if it begins with none, with a control
/// character, in one byte or two, or with one that misleads().
inline std::size_t letter_at_front(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  if (byte(0) < 0x80) return byte(0) < 0x20 || byte(0) == 0x7F ? 0 : 1;
  const std::size_t length = byte(0) >= 0xF0 ? 4 : byte(0) >= 0xE0 ? 3 : 2;
  if (byte(0) < 0xC2 || byte(0) > 0xF4 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i)
    if ((byte(i) & 0xC0) != 0x80) return 0;
  // Longer than need be, half of a pair of UTF-16, past the last letter.
  if ((byte(0) == 0xE0 && byte(1) < 0xA0) || (byte(0) == 0xED && byte(1) >= 0xA0) ||
      (byte(0) == 0xF0 && byte(1) < 0x90) || (byte(0) == 0xF4 && byte(1) >= 0x90))
    return 0;
  if (byte(0) == 0xC2 && byte(1) < 0xA0) return 0;
  return misleads(text.substr(0, length)) ? 0 : length;
}

/// At most `limit` bytes of the text, with "..." after the place of the cut; control characters, what
/// misleads() and bytes that are no UTF-8 are replaced by '?', so that nothing moves the cursor or colours
/// the screen. No letter is cut in two.
inline std::string shown(std::string_view text, std::size_t limit = 60) {
  std::string result;
  while (!text.empty()) {
    const std::size_t letter = letter_at_front(text), bytes = letter == 0 ? 1 : letter;
    if (result.size() + bytes > limit) return result + "...";
    letter == 0 ? result += '?' : result += text.substr(0, letter);
    text.remove_prefix(bytes);
  }
  return result;
}

/// The same of a text of many lines, which keeps their ends and its tabs; a cut leaves no mark.
inline std::string shown_lines(std::string_view text, std::size_t limit = std::string_view::npos) {
  std::string result;
  while (!text.empty()) {
    const bool kept = text[0] == '\n' || text[0] == '\t';
    const std::size_t letter = kept ? 1 : letter_at_front(text), bytes = letter == 0 ? 1 : letter;
    if (result.size() + bytes > limit) break;
    letter == 0 ? result += '?' : result += text.substr(0, letter);
    text.remove_prefix(bytes);
  }
  return result;
}

/// The first lines of a text, each with its line end; all of it if it has no more.
inline std::string first_lines(std::string_view text, std::size_t count) {
  std::size_t end = 0;
  for (std::size_t i = 0; i < count && end < text.size(); ++i)
    end = std::min(text.find('\n', end), text.size() - 1) + 1;
  return std::string(text.substr(0, end));
}

/// The text with every mark replaced by other words.
inline std::string replaced(std::string text, std::string_view mark, std::string_view by) {
  for (std::size_t at = text.find(mark); at != std::string::npos; at = text.find(mark, at + by.size()))
    text.replace(at, mark.size(), by);
  return text;
}

/// "1 token", "3 tokens": for nouns whose plural ends in s.
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
