#pragma once
/// @file
/// New files of ours, with the bytes of others.

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "ringcraft/core/error.hpp"

namespace ringcraft::grade {

/// A file that is written whole. Throws Error (kMissing) if there is no room for it.
class NewFile {
 public:
  explicit NewFile(const std::filesystem::path& path)
      : path_(path), stream_(path, std::ios::binary | std::ios::trunc) {
    check();
  }
  /// Appends bytes, which are in the file when this returns.
  void write(std::string_view bytes) {
    stream_ << bytes << std::flush;
    check();
  }

 private:
  void check() const {
    if (!stream_)
      throw Error("grade", "room for copies of what was handed in",
                  path_.string() + ", which cannot be written", "is the disk full?", Code::kMissing);
  }
  std::filesystem::path path_;
  std::ofstream stream_;
};

/// A new folder, and those above it. Throws Error (kMissing) if it cannot be made.
inline void make_folder(const std::filesystem::path& path) {
  std::error_code failed;
  std::filesystem::create_directories(path, failed);
  if (failed)
    throw Error("grade", "room for copies of what was handed in",
                path.string() + " (" + failed.message() + ")", "is the disk full?", Code::kMissing);
}

}  // namespace ringcraft::grade
