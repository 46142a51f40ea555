#pragma once
/// @file
/// A file that appears whole or not at all.

#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <span>

namespace ringcraft {

/// A file that exists under a temporary name in the folder of its target, until commit() gives it the
/// target's name. Without commit() it goes, and what stood at the target stays. A link stays, too, and its
/// target is replaced.
class PendingFile {
 public:
  /// Throws Error if something else than a regular file is at `target`, or nothing can be written to its
  /// folder.
  explicit PendingFile(const std::filesystem::path& target);
  ~PendingFile();
  PendingFile(const PendingFile&) = delete;
  PendingFile& operator=(const PendingFile&) = delete;

  /// Appends these bytes. Throws Error (Code::kMissing) if the disk is full.
  void write(std::span<const std::byte> bytes);
  /// Gives it the name. Throws Error if that fails, or the disk is full.
  void commit();

 private:
  [[noreturn]] void fail() const;

  std::filesystem::path target_, temporary_;
  std::FILE* file_ = nullptr;
  bool committed_ = false;
};

/// Removes the temporary files of `path` that another process of this machine has left, because it was killed
/// while it wrote.
void remove_unfinished(const std::filesystem::path& path, int process);

}  // namespace ringcraft
