// Looks for bytes that make a text something other than it seems.
#include "grade/intake/text_rules.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdio>

namespace ringcraft::grade {
namespace {

// Changes the order in which an editor shows the letters around it (CVE-2021-42574).
bool turns_text(std::uint32_t number) {
  return number == 0x61C || number == 0x200E || number == 0x200F || (number >= 0x202A && number <= 0x202E) ||
         (number >= 0x2066 && number <= 0x2069);
}

}  // namespace

CodePoint first_code_point(std::string_view text) {
  const auto byte = [&](std::size_t i) {
    return static_cast<std::uint32_t>(static_cast<unsigned char>(text[i]));
  };
  if (byte(0) < 0x80) return {byte(0), 1};
  const std::size_t bytes = byte(0) >= 0xF0 ? 4 : byte(0) >= 0xE0 ? 3 : 2;
  if (byte(0) < 0xC2 || byte(0) > 0xF4 || text.size() < bytes) return {};
  std::uint32_t number = byte(0) & (0x7FU >> bytes);
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return {};
    number = number << 6 | (byte(i) & 0x3F);
  }
  const bool too_long = number < (bytes == 2 ? 0x80U : bytes == 3 ? 0x800U : 0x10000U);
  const bool half = number >= 0xD800 && number <= 0xDFFF;
  return too_long || half || number > 0x10FFFF ? CodePoint{} : CodePoint{number, bytes};
}

Refusal refusal_of_text(std::string_view text) {
  if (text.find_first_not_of(" \t\r\n\v\f") == text.npos)
    return {"empty", "is empty: hand in the file with your work"};
  if (text.starts_with("\xFF\xFE") || text.starts_with("\xFE\xFF"))
    return {"encoding", "is text in UTF-16: save it as UTF-8"};
  if (text.find('\0') != text.npos)
    return {"zero", "holds a zero byte, as no text does: save it as plain text"};
  int line = 1;
  for (std::size_t at = 0; at < text.size();) {
    const CodePoint letter = first_code_point(text.substr(at));
    if (letter.bytes == 0)
      return {"encoding", "is no text in UTF-8 from line " + std::to_string(line) + " on: save it as UTF-8"};
    if (turns_text(letter.number)) {
      char name[16];
      std::snprintf(name, sizeof name, "U+%04X", letter.number);
      return {"bidi",
              "holds the invisible character " + std::string(name) + " in line " + std::to_string(line) +
                  ", which turns the order of the letters around, so that people read other code than the "
                  "compiler: delete it"};
    }
    if (letter.number == '\n') ++line;
    at += letter.bytes;
  }
  return {};
}

}  // namespace ringcraft::grade
