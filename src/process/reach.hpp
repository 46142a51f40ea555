#pragma once
/// @file
/// Which files a child may open by their names: rules of the kernel (Landlock, Linux 5.13), that hold for all
/// that the child starts, too. Where the kernel has none, a child reaches what its user does.

#include <filesystem>
#include <vector>

#include "process/descriptor.hpp"

namespace ringcraft::process {

/// Files, and folders with all that is in them; those that do not exist are passed over.
struct Reach {
  std::vector<std::filesystem::path> reads;   ///< to be read and started
  std::vector<std::filesystem::path> writes;  ///< to be read and changed
};

/// Whether this kernel holds a child to its reach.
bool reach_is_held();

/// The rules, for hold_to; not open where reach_is_held() is false.
Descriptor rules_of(const Reach& reach);

/// This process, and all that it starts, has this reach from now on, and gains no rights from programs that
/// it starts. Nothing but system calls. False if the kernel refuses.
bool hold_to(int rules);

}  // namespace ringcraft::process
