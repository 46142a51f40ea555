#pragma once
/// @file
/// Names of people as texts that can be compared, and as ASCII: "José", composed or with an accent of its
/// own, and "JOSE" are one name.

#include <string>
#include <string_view>

namespace ringcraft::grade {

/// The text in ASCII as far as the C library transliterates it: Latin letters lose their marks, and what has
/// no counterpart stays as it is.
std::string transliterated(std::string_view text);

/// The same in small letters of every alphabet, without blanks and punctuation: "Lovelace, Ada" and
/// "lovelaceada" are one name.
std::string folded(std::string_view name);

}  // namespace ringcraft::grade
