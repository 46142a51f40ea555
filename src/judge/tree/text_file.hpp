#pragma once
/// @file
/// Small files of the course, whole: those of the tree are read, those of a student are begun.

#include <cstdint>
#include <filesystem>
#include <string>

namespace ringcraft::judge {

/// Bytes of a student's file at most; a solution has about two thousand.
inline constexpr std::uintmax_t kLargestOwnFile = 256 << 10;

/// Everything in a file of the tree, or in one that the judge has made. Throws Error (kMissing) if it cannot
/// be read.
std::string read_text(const std::filesystem::path& path);

/// Begins a student's file for the exercise `id` ("104", "301.deadlock"). Throws Error if something is there
/// already, which is never overwritten, or if it cannot be written.
void begin_file(const std::filesystem::path& path, const std::string& text, const std::string& id);

}  // namespace ringcraft::judge
