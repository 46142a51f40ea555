#pragma once
/// @file
/// A temporary folder of this process.

#include <filesystem>
#include <string>
#include <vector>

namespace ringcraft::process {

/// A folder PREFIX-HOST-PID-XXXXXX that removes itself. The one that makes it also removes what processes of
/// this host that were killed have left: the folders beside it with this prefix, this host and the number of
/// a process that has ended. Hosts that share the place leave each other's alone.
class OwnFolder {
 public:
  /// Parts of the error where it cannot be made.
  struct Told {
    std::string where, advice;
  };
  /// Makes it in `above`, a folder that is there. Throws Error (kMissing) with these words.
  OwnFolder(const std::filesystem::path& above, const std::string& prefix, const Told& told);
  ~OwnFolder();
  OwnFolder(const OwnFolder&) = delete;
  OwnFolder& operator=(const OwnFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

/// The folders in `above` that begin so (own_names) and go on with the number of a process that has ended.
std::vector<std::filesystem::path> left_by_killed(const std::filesystem::path& above,
                                                  const std::string& begins);

/// The prefix and this host's name, as names of folders begin: letters and digits of the host, and hyphens.
std::string own_names(const std::string& prefix);

/// The system's place for temporary files, with a whole path: TMPDIR, or /tmp. Throws Error (kMissing) with
/// these words if it is no folder.
std::filesystem::path temporary_place(const OwnFolder::Told& told);

}  // namespace ringcraft::process
