#pragma once
/// @file
/// Small files of the course: reads those of the tree, and creates those of a student.

#include <cstdint>
#include <filesystem>
#include <string>

namespace ringcraft::judge {

/// The most bytes of a student's file; a solution has about two thousand.
inline constexpr std::uintmax_t kLargestOwnFile = 256 << 10;

/// The contents of a file of the tree, or of one that the judge has made. Throws Error (kMissing) if it
/// cannot be read.
std::string read_text(const std::filesystem::path& path);

/// Creates a student's file for the exercise `id` ("104", "301.deadlock"). Throws Error if something is there
/// already, which is never overwritten, or if it cannot be written.
void begin_file(const std::filesystem::path& path, const std::string& text, const std::string& id);

}  // namespace ringcraft::judge
