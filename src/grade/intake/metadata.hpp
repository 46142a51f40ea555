#pragma once
/// @file
/// Reads Gradescope's submission_metadata.yml: whose the folders beside it are.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace ringcraft::grade {

/// One submission, of one student or of a group.
struct Submission {
  std::string name = {};      ///< "Ada Lovelace"; of a group, all names
  std::string identity = {};  ///< the same in every export
  std::optional<std::int64_t> handed_in = {};
};

/// By the names of the folders. Only what stands where Gradescope writes it counts: output of programs lies
/// deeper.
std::map<std::string, Submission> read_metadata(std::string_view text);

/// Seconds since 1970 of "2026-04-26 17:34:00.861687000 Z" or "2026-04-26T10:34:00.86-07:00".
std::optional<std::int64_t> read_time(std::string_view text);

}  // namespace ringcraft::grade
