#pragma once
/// @file
/// The reports of a graded class, as files in a folder.

#include <filesystem>

#include "grade/record/record.hpp"

namespace ringcraft::grade {

/// Writes them, each whole or not at all:
///  | file              | for                                                                     |
///  |-------------------|-------------------------------------------------------------------------|
///  | index.html        | the instructor                                                          |
///  | students/KEY.html | each student                                                            |
///  | report.json       | programs: all of it                                                     |
///  | gradebook.csv     | spreadsheets, and imports of points                                     |
///  | junit.xml         | viewers of test results: every check                                    |
///  | gradescope/KEY.json | Gradescope: results.json of each student                              |
///  | times.json        | programs: what rests on measured time, which no other file shows |
/// Throws Error if one cannot be written.
void write_reports(const ClassResults& results, const std::filesystem::path& folder);

}  // namespace ringcraft::grade
