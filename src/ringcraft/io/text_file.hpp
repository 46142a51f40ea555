#pragma once
/// @file
/// Text that a user passes in a file, which anyone may change, or replace by a link, a pipe or something
/// endless, while it is read: it is opened once, and all checks are made on the open file.

#include <cstdint>
#include <ctime>
#include <filesystem>
#include <string>

namespace ringcraft {

/// A file as it was when it was read.
struct TextFile {
  std::string text;               ///< all of it
  std::filesystem::path place;    ///< its path, with all links resolved
  std::uint64_t device = 0;       ///< of the file system
  std::uint64_t inode = 0;        ///< its number there
  struct timespec modified = {};  ///< the last time
};

/// The whole of a regular file of at most so many bytes. Throws Error, which begins with the command or flag
/// `who`, for a folder, a pipe, a device, a file that cannot be read or one that is larger.
TextFile take_text_file(const std::string& who, const std::filesystem::path& path, std::uintmax_t most_bytes);

/// The same, its text alone.
std::string read_text_file(const std::string& who, const std::filesystem::path& path,
                           std::uintmax_t most_bytes);

/// The same for text without zero bytes: a large file of something else is refused at the first of them, and
/// not read to its end.
std::string read_plain_text_file(const std::string& who, const std::filesystem::path& path,
                                 std::uintmax_t most_bytes);

}  // namespace ringcraft
