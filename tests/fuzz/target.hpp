#pragma once
/// @file
/// A fuzz target: one function that takes any bytes and ends the process if something is wrong, and the
/// inputs that the seeded driver begins with. libFuzzer calls the same function.

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <string_view>
#include <vector>

#include "ringcraft/core/error.hpp"

/// Tries one input. Returns 0; a crash, a sanitizer's finding or fuzz::require ends the process.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace ringcraft::fuzz {

/// Valid inputs to change.
std::vector<std::string> seeds();
/// Pieces that valid inputs are made of.
std::vector<std::string> words();

/// Ends the process with a sentence if the condition does not hold.
inline void require(bool condition, const std::string& sentence) {
  if (condition) return;
  std::fprintf(stderr, "fuzz: %s\n", sentence.c_str());
  std::abort();
}

/// The what() of an Error must be one sentence for a person: some text, not without end, and nothing that
/// moves a terminal's cursor.
inline void require_sentence(const Error& error) {
  const std::string_view text = error.what();
  require(!text.empty() && text.size() < 4000, "an error of " + std::to_string(text.size()) + " bytes");
  for (const char c : text)
    require(static_cast<unsigned char>(c) >= 0x20 && c != 0x7F,
            "a control character in: " + std::string(text));
}

/// Reads an input piece by piece; past its end there are zeros.
class Reader {
 public:
  Reader(const std::uint8_t* data, std::size_t size) : data_(data), size_(size) {}

  /// The next byte.
  int byte() { return at_ < size_ ? data_[at_++] : 0; }
  /// 0 to n - 1.
  int below(int n) { return byte() % n; }
  /// Whether all bytes are taken.
  bool empty() const { return at_ >= size_; }
  /// Bytes up to and without the next zero byte, and that byte.
  std::string text() {
    std::string word;
    while (!empty()) {
      const char c = static_cast<char>(byte());
      if (c == '\0') break;
      word += c;
    }
    return word;
  }

 private:
  const std::uint8_t* data_;
  std::size_t size_, at_ = 0;
};

}  // namespace ringcraft::fuzz
