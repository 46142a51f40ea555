// Reads small files of the course, and creates those of a student.
#include "judge/tree/text_file.hpp"

#include <fstream>
#include <iterator>

#include "ringcraft/core/error.hpp"

namespace ringcraft::judge {

std::string read_text(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  if (!file)
    throw Error("file", "a readable file", path.string(), "check its permissions, or clone the tree again",
                Code::kMissing);
  return text;
}

void begin_file(const std::filesystem::path& path, const std::string& text, const std::string& id) {
  if (std::filesystem::exists(std::filesystem::symlink_status(path)))
    throw Error("start", "no file yet", path.string(),
                "continue with it, or move it away to start again; then ./ringcraft check " + id);
  std::error_code failed;
  std::filesystem::create_directories(path.parent_path(), failed);
  std::ofstream file(path, std::ios::binary);
  if (!failed && file << text && file.flush()) return;
  const bool begun = file.is_open();
  file.close();
  std::error_code ignored;
  if (begun) std::filesystem::remove(path, ignored);  // half a file would be taken for the student's own
  throw Error("start", "a folder that can be written", path.string(),
              "check its permissions, and the room on the disk");
}

}  // namespace ringcraft::judge
