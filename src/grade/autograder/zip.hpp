#pragma once
/// @file
/// Writes zip archives.

#include <filesystem>
#include <string>
#include <vector>

namespace ringcraft::grade {

/// A file of an archive.
struct Zipped {
  std::string path;  ///< below the archive's root
  std::string text;
  bool executable = false;
};

/// Writes a new archive; the same files give the same bytes. Throws Error if there is something at `archive`,
/// if it cannot be written, or (kMissing) if this program is built without libarchive.
void write_zip(const std::filesystem::path& archive, const std::vector<Zipped>& files);

}  // namespace ringcraft::grade
