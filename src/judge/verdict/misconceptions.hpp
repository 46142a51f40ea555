#pragma once
/// @file
/// The misconceptions of a lesson: what others have got wrong before, and the fingerprint that each of them
/// leaves. The table lessons/NNN_name/misconceptions.csv is written by the program `misconceptions`, which
/// judges every known wrong implementation.

#include <filesystem>
#include <string>
#include <vector>

#include "judge/verdict/fingerprint.hpp"

namespace ringcraft::judge {

/// One known wrong implementation.
struct Misconception {
  std::string id;           ///< "RF4": the same mistake has the same id in every lesson
  std::string file;         ///< "wrong_label": below tests/misconceptions/NNN_name, without ".cpp"
  std::string sentence;     ///< what is wrong
  std::string question;     ///< one question that leads on
  Fingerprint fingerprint;  ///< of its verdict, for seed 1

  friend bool operator==(const Misconception&, const Misconception&) = default;
};

/// Where the table of a lesson lies in the source tree. Throws Error for an unknown lesson.
std::filesystem::path misconceptions_file(int lesson);

/// The rows of a table; none if there is no such file. Throws Error for a row without five fields.
std::vector<Misconception> read_misconceptions(const std::filesystem::path& csv);

/// The table as text, the names of its columns first.
std::string csv_of(const std::vector<Misconception>& rows);

}  // namespace ringcraft::judge
