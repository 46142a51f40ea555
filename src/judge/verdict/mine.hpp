#pragma once
/// @file
/// Mine: the student's files drive the ladder. Every file that the student has written in is compiled like
/// the library's own. A stage runs in a separate process, whose program contains the student's version of the
/// files that it runs, and of no others: anything that it does instead of answering becomes a sentence about
/// that stage. The caller, which runs no student's code, compares and prints.

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
  std::string obstacle;        ///< the reason why the library's own is used instead; empty if it takes part
};

/// All started files of a workspace, built and ready.
class Mine {
 public:
  /// Compiles all of them, or with `only` that lesson's file alone. Throws Error if there is no file that the
  /// student has written in. Kernels run on this device. On a GPU the program may do anything that the driver
  /// does; only the operating system protects the machine.
  explicit Mine(const std::filesystem::path& workspace, Device device = Device::kCpu,
                std::optional<int> only = {});

  /// Every file that the student has written in, by lesson.
  const std::vector<OwnFile>& files() const { return files_; }
  /// Lessons that are started but unchanged: the library's own files are used instead.
  const std::vector<int>& unwritten() const { return unwritten_; }
  /// The lessons of this stage whose files are the student's.
  std::vector<int> lessons_in(const verify::Stage& stage) const;
  /// Lessons that take part and are in no stage of the ladder, nor of the kernels.
  std::vector<int> unused() const;

  /// Runs a stage on the shared problem. Throws Misbehaviour if the student's files do not let it end,
  /// or not within `limit`.
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
