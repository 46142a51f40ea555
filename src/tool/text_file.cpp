// Text that a person hands over (see text_file.hpp).
#include "tool/text_file.hpp"

#include <fstream>
#include <iterator>

#include "ringcraft/core/error.hpp"

namespace ringcraft::tool {

std::string read_text_file(const std::string& flag, const std::filesystem::path& path,
                           std::uintmax_t most_bytes) {
  std::error_code failed;
  const auto status = std::filesystem::status(path, failed);
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status))
    throw Error(flag, "a regular file", path.string() + ", a folder, a pipe or a device",
                "name a file of text");
  if (const std::uintmax_t bytes = std::filesystem::file_size(path, failed); !failed && bytes > most_bytes)
    throw Error(flag, "at most " + std::to_string(most_bytes) + " bytes", std::to_string(bytes),
                "name a smaller file");
  std::ifstream file(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  if (!file) throw Error(flag, "a file that can be read", path.string(), "check the path");
  return text;
}

}  // namespace ringcraft::tool
