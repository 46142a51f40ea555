#pragma once
/// @file
/// From a student's file to a worker program: one compile, the symbol gate, one link, in a folder that is
/// removed again.

#include <filesystem>
#include <string>
#include <vector>

#include "judge/build/gate/source.hpp"
#include "judge/checks/lesson.hpp"
#include "process/own_folder.hpp"
#include "verify/report/report.hpp"

namespace ringcraft::judge {

/// The system's programs, libraries and headers: files and folders of the names that systems use for them.
extern const std::vector<std::string> kSystemPlaces;

/// A folder in the build tree for one check, which removes itself; it is the other user's where workers run
/// as one.
class WorkFolder {
 public:
  /// Throws Error (kMissing) if it cannot be made.
  WorkFolder();
  const std::filesystem::path& path() const { return own_.path(); }

 private:
  process::OwnFolder own_;
};

/// The result of one step of the build; the sentence is empty if the step succeeded.
struct BuildStep {
  std::string sentence;
  std::string remark;  ///< although it succeeded: the compiler's warnings, or what is odd about the file
};

/// The device that kernels run on.
enum class Device : bool { kCpu, kGpu };

/// Reads the student's own files that the file includes, and compiles it for this lesson to student.o in the
/// folder: from copies, by a compiler that can open no other file of theirs. kGpu: a kernel, by
/// nvcc, in a build that has CUDA.
BuildStep compile(const Lesson& lesson, OwnSource& source, const WorkFolder& folder,
                  Device device = Device::kCpu);
/// Passes student.o, which was compiled from this file, through the symbol gate.
BuildStep gate(const Lesson& lesson, const OwnSource& source, const WorkFolder& folder);
/// Links student.o to the worker's program, and for a timed lesson the library's own object to another one.
BuildStep link(const Lesson& lesson, const WorkFolder& folder);
/// Fills in the lines, "01_naive.cu:47", of places in the worker's machine code, as far as they lie in the
/// student's file; the worker may ask no other program for them.
void name_lines(const std::vector<simt::CodePlace*>& places, const std::string& file,
                const WorkFolder& folder);
/// Links objects in front of `inputs` (kLinkInputs, kStageLinkInputs) to a program; the sentence is the
/// linker's text.
BuildStep link_program(const std::filesystem::path& program, const std::vector<std::string>& objects,
                       const std::vector<std::string>& inputs, const WorkFolder& folder);
/// Compiles the files that `compile` has put into the folder again, for debuggers, and links them with the
/// checks to one program: `program`, which stays until the next call for this file.
BuildStep link_debug(const Lesson& lesson, const OwnSource& source, const WorkFolder& folder,
                     std::filesystem::path& program);
/// The worker with the student's function.
std::filesystem::path worker_program(const WorkFolder& folder);
/// The worker with the library's own, made for a timed lesson only.
std::filesystem::path library_program(const WorkFolder& folder);

}  // namespace ringcraft::judge
