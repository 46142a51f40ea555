#pragma once
// Detects which of the student's files was saved. The kernel reports it (inotify, on the folders, since
// editors write a new file and rename it); where it cannot, as on a network file system, size and time of
// every file are polled.

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <set>
#include <vector>

#include "process/descriptor.hpp"

namespace ringcraft::tool {

// The way in which changes are detected.
enum class Watching : std::uint8_t { kBest, kPolling };

class FileWatch {
 public:
  // Watches the sources (.cpp .hpp .h .txt .schedule) in the folders of the workspace, those that come later
  // included. Files that exist now count as known.
  explicit FileWatch(std::filesystem::path workspace, Watching how = Watching::kBest);

  // Readable when something may have been saved; -1 while polling.
  int descriptor() const { return inotify_.get(); }
  // When to ask again at the latest.
  std::chrono::milliseconds pause() const;
  // The files that were saved since the last call. A file that is away for a moment is reported when it is
  // back.
  std::vector<std::filesystem::path> changed();

 private:
  struct Stamp {
    std::int64_t seconds, nanoseconds, bytes;
    std::uint64_t inode;
    bool operator==(const Stamp&) const = default;
  };
  using Stamps = std::map<std::filesystem::path, Stamp>;

  Stamps look() const;
  void watch_folders();
  std::set<std::filesystem::path> told();

  std::filesystem::path workspace_;
  process::Descriptor inotify_;
  std::map<int, std::filesystem::path> folders_;  // by watch descriptor
  Stamps known_;
};

}  // namespace ringcraft::tool
