#pragma once
// Text that a person hands over.

#include <cstdint>
#include <filesystem>
#include <string>

namespace ringcraft::tool {

// All of a regular file of at most so many bytes. Throws Error, which begins with the flag that named it, for
// a folder, a pipe, a device, a file that cannot be read or one that is larger.
std::string read_text_file(const std::string& flag, const std::filesystem::path& path,
                           std::uintmax_t most_bytes);

}  // namespace ringcraft::tool
