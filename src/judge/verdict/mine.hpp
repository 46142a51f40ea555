#pragma once
/// @file
/// Mine: the student's files drive the ladder. Every file that the student has written in is compiled like
/// the library's own. A stage runs in a process of its own, of a program in which the files that it runs, and
/// no others, stand for the library's: whatever it does there instead of answering becomes a sentence about
/// that stage. Comparing and printing stay with the caller, who runs no student's code.

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "judge/build/toolchain.hpp"
#include "judge/run/team.hpp"
#include "verify/ladder/ladder.hpp"

namespace ringcraft::judge {

/// A file of the student's.
struct OwnFile {
  int lesson = 0;
  std::filesystem::path path;  ///< WORKSPACE/104_merge/merge.cpp
  std::string obstacle;        ///< why the library's own stands in for it; empty if it takes part
};

/// All started files of a workspace, built and ready.
class Mine {
 public:
  /// Compiles, with `only` that lesson's file alone. Throws Error if there is no file that the student has
  /// written in.
  /// Kernels run on this device. On a GPU the program is free to do what the driver does, and the system
  /// alone guards the machine.
  explicit Mine(const std::filesystem::path& workspace, Device device = Device::kCpu,
                std::optional<int> only = {});

  /// Every file that the student has written in, by lesson.
  const std::vector<OwnFile>& files() const { return files_; }
  /// Lessons that are started and still as they were given: the library's own files stand in for them.
  const std::vector<int>& unwritten() const { return unwritten_; }
  /// The lessons of this stage whose files are the student's.
  std::vector<int> lessons_in(const verify::Stage& stage) const;
  /// Lessons that take part and are in no stage of the ladder, nor of the kernels.
  std::vector<int> unused() const;

  /// Runs a stage on the shared problem. Throws Misbehaviour if the student's files do not let it come to its
  /// end, or not within `limit`.
  verify::StageResult climb(const verify::Stage& stage, const Problem& shared, const verify::Inputs& inputs,
                            std::chrono::seconds limit);

 private:
  bool takes_part(int lesson) const;
  std::filesystem::path object_of(int lesson) const;
  std::filesystem::path program_of(const verify::Stage& stage) const;

  Device device_;
  std::vector<OwnFile> files_;
  std::vector<int> unwritten_;
  WorkFolder folder_;
};

}  // namespace ringcraft::judge
