// Watches files by inotify, or by polling their stamps.
#include "tool/watch/file_watch.hpp"

#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>

namespace ringcraft::tool {
namespace {

namespace fs = std::filesystem;

constexpr std::uint32_t kEvents =
    IN_CLOSE_WRITE | IN_MOVED_TO | IN_CREATE | IN_DELETE | IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR;

// File systems that other machines write to, without a notice to this kernel.
bool is_network(const fs::path& folder) {
  struct statfs system {};
  if (::statfs(folder.c_str(), &system) != 0) return true;
  constexpr std::array<std::uint32_t, 9> kKinds{0x6969,       // NFS
                                                0x517B,       // SMB
                                                0xFF534D42,   // CIFS
                                                0xFE534D42,   // SMB 2
                                                0x65735546,   // FUSE: sshfs, shared folders
                                                0x01021997,   // 9P: shared folders
                                                0x00C36400,   // Ceph
                                                0x5346414F,   // AFS
                                                0x786F4256};  // VirtualBox
  return std::ranges::find(kKinds, static_cast<std::uint32_t>(system.f_type)) != kKinds.end();
}

bool is_source(const fs::path& file) {
  const std::string name = file.filename().string();
  if (name.empty() || name.front() == '.' || name.front() == '#') return false;
  constexpr std::array<std::string_view, 7> kEndings{".cpp", ".cu",  ".hpp",     ".cuh",
                                                     ".h",   ".txt", ".schedule"};
  return std::ranges::find(kEndings, file.extension().string()) != kEndings.end();
}

std::vector<fs::path> folders_of(const fs::path& workspace) {
  std::vector<fs::path> folders;
  std::error_code ignored;
  for (fs::directory_iterator each(workspace, ignored), end; !ignored && each != end; each.increment(ignored))
    if (each->is_directory(ignored)) folders.push_back(each->path());
  return folders;
}

}  // namespace

FileWatch::FileWatch(fs::path workspace, Watching how) : workspace_(std::move(workspace)) {
  std::error_code ignored;
  fs::create_directories(workspace_, ignored);
  if (how == Watching::kBest && !is_network(workspace_)) {
    const int fd = ::inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    if (fd >= 0) {
      inotify_ = process::Descriptor(fd);
      watch_folders();
    }
  }
  known_ = look();
}

std::chrono::milliseconds FileWatch::pause() const {
  return std::chrono::milliseconds(inotify_.open() ? 2000 : 300);
}

FileWatch::Stamps FileWatch::look() const {
  Stamps stamps;
  for (const fs::path& folder : folders_of(workspace_)) {
    std::error_code ignored;
    for (fs::directory_iterator each(folder, ignored), end; !ignored && each != end;
         each.increment(ignored)) {
      struct stat found {};
      if (!is_source(each->path()) || ::stat(each->path().c_str(), &found) != 0 || !S_ISREG(found.st_mode))
        continue;
      stamps[each->path()] = {found.st_mtim.tv_sec, found.st_mtim.tv_nsec, found.st_size, found.st_ino};
    }
  }
  return stamps;
}

void FileWatch::watch_folders() {
  std::vector<fs::path> folders = folders_of(workspace_);
  folders.push_back(workspace_);
  for (const fs::path& folder : folders) {
    const int watch = ::inotify_add_watch(inotify_.get(), folder.c_str(), kEvents);
    if (watch < 0) {  // the user's share is used up: look instead
      inotify_.close();
      folders_.clear();
      return;
    }
    folders_[watch] = folder;
  }
}

// The files that the kernel names. A second save within one tick of the file system's clock has the same
// stamp, so the name counts.
std::set<fs::path> FileWatch::told() {
  std::set<fs::path> files;
  bool folders_changed = false;
  alignas(inotify_event) char bytes[16 << 10];
  for (ssize_t got; (got = ::read(inotify_.get(), bytes, sizeof bytes)) > 0;) {
    for (ssize_t at = 0; at < got;) {
      const auto* event = reinterpret_cast<const inotify_event*>(bytes + at);
      at += static_cast<ssize_t>(sizeof(inotify_event) + event->len);
      const auto folder = folders_.find(event->wd);
      if (folder == folders_.end()) continue;
      if (folder->second == workspace_ || (event->mask & (IN_DELETE_SELF | IN_MOVE_SELF)) != 0)
        folders_changed = true;
      else if (event->len > 0 && (event->mask & (IN_CLOSE_WRITE | IN_MOVED_TO)) != 0)
        files.insert(folder->second / event->name);
      if ((event->mask & IN_IGNORED) != 0) folders_.erase(folder);
    }
  }
  if (folders_changed) watch_folders();
  return files;
}

std::vector<fs::path> FileWatch::changed() {
  const std::set<fs::path> named = inotify_.open() ? told() : std::set<fs::path>();
  Stamps now = look();
  std::vector<fs::path> files;
  for (const auto& [file, stamp] : now) {
    const auto before = known_.find(file);
    if (named.contains(file) || before == known_.end() || before->second != stamp) files.push_back(file);
  }
  known_ = std::move(now);
  return files;
}

}  // namespace ringcraft::tool
