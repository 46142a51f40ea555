#pragma once
/// @file
/// Everyone in a class, as the course's system exports them: a table with a line for each person, in which
/// those who have handed in are found.

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "grade/intake/metadata.hpp"

namespace ringcraft::grade {

/// A table as CSV (RFC 4180), separated by commas, semicolons or tabs.
struct Roster {
  char separator = ',';
  std::vector<std::string> head;               ///< the names of its columns
  std::vector<std::vector<std::string>> rows;  ///< cells, as many in each as the head has
};

/// Reads one. Throws Error, which names `place`, for a text that is no UTF-8, a quote that does not end, and
/// a table without a column or a line.
Roster read_roster(std::string_view text, const std::string& place);

/// The line of each of these people, none for those who are not on it. Most are found in one and the same
/// way: by a column that holds their ids ("12345", or "Participant 12345"), else by a column that holds their
/// names as they are typed, else by names without case, accents, blanks and punctuation, in one column or in
/// two that stand side by side, in either order. Nobody is on a line that bears another name, on two lines,
/// or on one that somebody else fits, too.
std::vector<std::optional<std::size_t>> lines_of(const Roster& roster, const std::vector<Person>& people);

/// How a page calls the person of a line: the cells of all columns that are names, else the first cell; empty
/// if it is nobody.
std::string label_of(const Roster& roster, std::size_t line);

/// Whether it is Canvas's line "Points Possible", which is no person.
bool is_of_points(const Roster& roster, std::size_t line);

}  // namespace ringcraft::grade
