#pragma once
/// @file
/// The verdict on every wrong file of a lesson: how each check ended, and the first cause that was named. The
/// tables tests/misconceptions/tables/NNN_name.csv are written by the program `misconceptions`, and read by
/// docs/kill_table.py.

#include <filesystem>
#include <string>
#include <vector>

#include "corpus.hpp"
#include "judge/verdict/judge.hpp"

namespace ringcraft::judge {

/// One wrong file.
struct TableRow {
  std::string id;        ///< "RF4"
  std::string file;      ///< "wrong_label", without its ending
  std::string sentence;  ///< what is wrong, in its own words
  std::string checks;    ///< "one-rank=. causal=x layouts=-": a sign for each (namespace sign)
  std::string cause;     ///< the id of the first cause; empty: none was named

  friend bool operator==(const TableRow&, const TableRow&) = default;
};

/// The row of a file with this verdict.
TableRow row_for(const WrongFile& file, const Verdict& verdict);

/// Where the table of a lesson lies.
std::filesystem::path table_file(const LessonInfo& lesson);

/// The rows of a table; none if there is no such file. Throws Error for a row without five fields.
std::vector<TableRow> read_table(const std::filesystem::path& csv);

/// The table as text, the names of its columns first.
std::string csv_of(const std::vector<TableRow>& rows);

}  // namespace ringcraft::judge
