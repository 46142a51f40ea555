#pragma once
/// @file
/// The layers between a student's code and this machine. Inside stand those of the judge: gates for source
/// and object, workers that know no expected value, the lock on system calls. Around the whole judgement of
/// one file stand those of the host: namespaces, which bubblewrap makes, and another user.

#include <filesystem>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "grade/record/record.hpp"
#include "process/child.hpp"

namespace ringcraft::grade {

/// The user that judges, or that runs what is judged, where grading runs as root: nobody.
inline constexpr uid_t kJudgingUser = 65534;

/// Every layer, and whether this host has it. Other users must be able to read `tree`, the folder of the
/// project.
std::vector<Layer> layers(const std::filesystem::path& tree);

/// Whether the layer of this id is here.
bool has(const std::vector<Layer>& all, std::string_view id);

/// Throws Error (kMissing) if a layer is missing that is not in `without`, with what gives it; and for a name
/// in `without` that is none.
void require(const std::vector<Layer>& all, const std::set<std::string>& without);

/// The part of the file system that a jailed program sees, beside the system's programs, libraries and
/// headers. Each is at its own place.
struct Sight {
  std::vector<std::filesystem::path> reads;   ///< to be read
  std::vector<std::filesystem::path> writes;  ///< to be written
  std::filesystem::path work;        ///< a folder that the program finds at `work_place`, to be written
  std::filesystem::path work_place;  ///< see work
};

/// The command inside those of these layers that are here: in namespaces it sees no other file, no network
/// and no process of this machine, and as another user it has no rights on them.
process::Command jailed(process::Command command, const std::vector<Layer>& all, const Sight& sight);

}  // namespace ringcraft::grade
