#pragma once
// Side exercises on the command line: "301.deadlock" instead of a lesson's number.

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace ringcraft::tool {

// The seed of this person's form, for a side exercise whose numbers are chosen; otherwise nothing.
std::optional<std::uint64_t> seed_of_form(const std::string& id);

// Writes the exercise into the workspace, and prints the next steps. Without a seed a seeded one gets numbers
// from the login name, so that neighbours do not have the same answers.
void start_puzzle(const std::string& id, std::optional<std::uint64_t> seed,
                  const std::filesystem::path& workspace);

// Of the side exercises that are started, the one whose file was changed last, if that is after `than`.
std::optional<std::string> puzzle_newer(std::optional<std::filesystem::file_time_type> than,
                                        const std::filesystem::path& workspace);

}  // namespace ringcraft::tool
