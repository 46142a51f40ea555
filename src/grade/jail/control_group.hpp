#pragma once
/// @file
/// Limits for all the programs of a judgement together, by control groups of Linux (version 2). Each program
/// has limits of its own (process/child.hpp) with or without them.

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace ringcraft::grade {

/// Limits of the judge, the compilers and the workers of one hand-in, at one time. Right files take less than
/// a tenth.
struct GroupLimits {
  std::uintmax_t bytes = std::uintmax_t{8} << 30;
  int threads = 1024;  ///< processes and threads
};

/// A control group with these limits. Whatever still runs in it ends with it.
class ControlGroup {
 public:
  /// Makes it in `place`, the folder of a control group. Throws Error (kMissing) if the system gives none
  /// with such limits.
  ControlGroup(const std::filesystem::path& place, const std::string& name, GroupLimits limits = {});
  ~ControlGroup();
  ControlGroup(const ControlGroup&) = delete;
  ControlGroup& operator=(const ControlGroup&) = delete;

  /// Its folder, for process::Command::group.
  const std::filesystem::path& folder() const { return folder_; }

 private:
  std::filesystem::path folder_;
};

/// The folder in which this process can make control groups, or why there is none.
struct GroupPlace {
  std::filesystem::path folder;  ///< empty if there is none
  std::string reason;            ///< why there is none, and what gives one
};
/// Tries the places of this process, with a program in a group each, the first time that it is asked; the
/// groups that killed runs have left in the one that serves go.
const GroupPlace& group_place();

/// The folders where this process might make groups, the nearest first: a group that holds processes can hold
/// no groups with limits, so these are the groups above its own, or the root. From the text of
/// /proc/self/mountinfo and of /proc/self/cgroup; empty without version 2.
std::vector<std::filesystem::path> group_places(const std::string& mounts, const std::string& own);

}  // namespace ringcraft::grade
