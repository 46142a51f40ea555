// Makes control groups, and finds the place for them.
#include "grade/jail/control_group.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <fstream>
#include <iterator>
#include <sstream>
#include <system_error>
#include <thread>

#include "process/child.hpp"
#include "process/own_folder.hpp"
#include "ringcraft/core/error.hpp"

namespace ringcraft::grade {
namespace {

namespace fs = std::filesystem;

constexpr const char* kPrefix = "ringcraft-judge";

std::string text_in(const fs::path& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}

// Whether the kernel took it.
bool put(const fs::path& file, const std::string& text) {
  const int fd = ::open(file.c_str(), O_WRONLY | O_CLOEXEC);
  if (fd < 0) return false;
  const ssize_t written = ::write(fd, text.data(), text.size());
  const int error = errno;
  ::close(fd);
  errno = error;
  return written == static_cast<ssize_t>(text.size());
}

// Whether a list of controllers has those of memory and of the number of processes.
bool has_both(const fs::path& list) {
  std::istringstream words(text_in(list));
  int found = 0;
  for (std::string word; words >> word;) found += word == "memory" || word == "pids" ? 1 : 0;
  return found == 2;
}

// The groups that can be made there get both.
bool hands_on_both(const fs::path& place) {
  const fs::path list = place / "cgroup.subtree_control";
  return has_both(list) || (put(list, "+memory +pids") && has_both(list));
}

// Ends the processes of a group, and removes it once the kernel has let go of the last of them.
void end_group(const fs::path& folder) {
  put(folder / "cgroup.kill", "1");
  const auto latest = process::Clock::now() + std::chrono::seconds(5);
  while (::rmdir(folder.c_str()) != 0 && errno == EBUSY && process::Clock::now() < latest)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
}

// Whether a program runs in a group there.
bool serves(const fs::path& place) {
  if (!hands_on_both(place)) return false;
  try {
    const ControlGroup probe(place, "probe");
    return process::run_command({.arguments = {"/usr/bin/true"}, .environment = {}, .group = probe.folder()},
                                std::chrono::seconds(10))
        .good();
  } catch (const Error&) {
    return false;
  }
}

GroupPlace found_place() {
  const std::vector<fs::path> places =
      group_places(text_in("/proc/self/mountinfo"), text_in("/proc/self/cgroup"));
  if (places.empty()) return {{}, "this system has no control groups of version 2"};
  for (const fs::path& place : places) {
    if (!serves(place)) continue;
    for (const fs::path& left : process::left_by_killed(place, process::own_names(kPrefix))) end_group(left);
    return {place, ""};
  }
  return {{},
          has_both(places.back() / "cgroup.controllers")
              ? "you may make no control group here: start it by systemd-run --user --scope, or as root"
              : "control groups of version 2 have no limits of memory and of processes here"};
}

}  // namespace

ControlGroup::ControlGroup(const fs::path& place, const std::string& name, GroupLimits limits)
    : folder_(place / (process::own_names(kPrefix) + std::to_string(::getpid()) + "-" + name)) {
  if (::mkdir(folder_.c_str(), 0755) == 0 && put(folder_ / "memory.max", std::to_string(limits.bytes)) &&
      put(folder_ / "pids.max", std::to_string(limits.threads))) {
    put(folder_ / "memory.swap.max", "0");  // absent from kernels that do not count swap
    return;
  }
  const std::string why = std::strerror(errno);
  ::rmdir(folder_.c_str());
  throw Error("grade", "a control group below " + place.string(), why, "see ./ringcraft doctor",
              Code::kMissing);
}

ControlGroup::~ControlGroup() { end_group(folder_); }

std::vector<fs::path> group_places(const std::string& mounts, const std::string& own) {
  fs::path mount, root, group;
  std::istringstream lines(mounts);
  for (std::string line; mount.empty() && std::getline(lines, line);) {
    const std::size_t kind = line.find(" - cgroup2 ");
    if (kind == std::string::npos) continue;
    std::string number, parent, device;
    std::istringstream(line) >> number >> parent >> device >> root >> mount;
  }
  lines = std::istringstream(own);
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with("0::")) group = line.substr(3);
  if (mount.empty() || group.empty()) return {};
  const fs::path below = group.lexically_relative(root);
  if (below.empty() || *below.begin() == "..") return {};  // of a group that this mount does not show
  if (below == ".") return {mount};
  std::vector<fs::path> places;
  for (fs::path place = mount / below; place != mount;) places.push_back(place = place.parent_path());
  return places;
}

const GroupPlace& group_place() {
  static const GroupPlace place = found_place();
  return place;
}

}  // namespace ringcraft::grade
