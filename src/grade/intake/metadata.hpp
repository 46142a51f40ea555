#pragma once
/// @file
/// Reads Gradescope's submission_metadata.yml, whose the folders beside it are, and the
/// submission_metadata.json that its autograder gets, of one submission.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ringcraft::grade {

/// One of the people whose work it is, as the course's system knows them.
struct Person {
  std::string name;
  std::string id;  ///< a number, a sid or an address; empty where the export says none
};

/// One submission, of one student or of a group.
struct Submission {
  std::string name = {};      ///< "Ada Lovelace"; of a group, all names
  std::string identity = {};  ///< the same in every export
  std::vector<Person> people = {};
  std::optional<std::int64_t> handed_in = {};
  bool late = false;  ///< after its due date, where that is known
};

/// By the names of the folders. Only what stands where Gradescope writes it counts: output of programs lies
/// deeper.
std::map<std::string, Submission> read_metadata(std::string_view text);

/// Reads submission_metadata.json; of what it does not say, or not as Gradescope writes it, nothing. A
/// submission is late after the last due date that one of its people has, an extension counted.
Submission read_submission(std::string_view json);

/// Seconds since 1970 of "2026-04-26 17:34:00.861687000 Z" or "2026-04-26T10:34:00.86-07:00".
std::optional<std::int64_t> read_time(std::string_view text);

}  // namespace ringcraft::grade
