#pragma once
/// @file
/// Rules for the text of a file that is handed in, before anything else reads it.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace ringcraft::grade {

/// Why something is refused; both empty if it is not.
struct Refusal {
  std::string code;  ///< "bidi"
  std::string why;   ///< what follows the file's name in a sentence: "is empty: ..."
  explicit operator bool() const { return !code.empty(); }
};

/// A letter of UTF-8.
struct CodePoint {
  std::uint32_t number = 0;
  std::size_t bytes = 0;  ///< 0: there is none
};

/// The one at the front of a text that is not empty.
CodePoint first_code_point(std::string_view text);

/// Whether the bytes are text, in UTF-8, that reads as it is compiled.
Refusal refusal_of_text(std::string_view text);

}  // namespace ringcraft::grade
