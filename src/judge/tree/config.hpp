#pragma once
/// @file
/// Where the build tree keeps what the judge needs: compiler, flags, objects and archives. Written by CMake.
/// The names are constants before anything runs; the lists are filled while the program starts, so nothing
/// outside of a function may read them.

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace ringcraft::judge {

/// Whether the library in the workers is built with sanitizers.
extern const bool kSanitized;
/// Whether programs with a student's code start without any file: then they are locked up from outside.
extern const bool kLockable;
/// Root of the source tree.
extern const std::string_view kSourceRoot;
/// Where an exported tree's build has unpacked the files with sealed bodies, laid out as below kSourceRoot;
/// empty in a tree that has its bodies itself.
extern const std::string_view kUnsealedRoot;
/// An existing folder of the build tree for short-lived files.
extern const std::string_view kWorkRoot;
/// The compiler and its flags for a student's file; the precompiled header fits exactly these.
extern const std::vector<std::string> kCompile;
/// Further flags for a file whose speed is compared: those that the library is built with.
extern const std::vector<std::string> kOptimise;
/// Further flags for a file whose steps are counted; the first is empty where the compiler cannot count.
extern const std::vector<std::string> kCount;
/// The compiler and its flags for a kernel that runs on the CPU, a precompiled header included; empty where
/// kernels do not.
extern const std::vector<std::string> kKernelCompile;
/// Further flags that make such a file show every access to a checker; the precompiled header fits these.
extern const std::vector<std::string> kChecked;
/// Flags that make the compiler print the preprocessed text instead.
extern const std::vector<std::string> kExpand;
/// The folders where the compiler looks for its own headers and the system's.
extern const std::vector<std::string> kToolchainHeaders;
/// nvcc and its flags for a kernel that runs on a GPU; empty where there is none.
extern const std::vector<std::string> kGpuCompile;
/// The compiler's flags for linking a worker, in front of the objects.
extern const std::vector<std::string> kLink;
/// The objects of a worker that precede the student's.
extern const std::vector<std::string> kFirst;
/// The same of a worker that runs kernels; empty where there is none.
extern const std::vector<std::string> kFirstKernels;
/// The object that calls a lesson's exercises, and no others: the exercises that a worker of that lesson
/// serves.
extern const std::map<int, std::string> kServed;
/// The objects of the worker, the archives of the library, and their dependencies: after those of the lesson.
extern const std::vector<std::string> kLinkInputs;
/// The same for a worker that runs kernels.
extern const std::vector<std::string> kKernelLinkInputs;
/// The same for the program that runs a stage of the ladder with students' objects.
extern const std::vector<std::string> kStageLinkInputs;
/// The same with the kernels of a GPU; empty where there is no nvcc.
extern const std::vector<std::string> kGpuStageLinkInputs;
/// The programs nm and addr2line.
extern const std::string_view kNm, kAddr2line;
/// Files with nm's list of the symbols of all objects of the library, and of its kernels for the CPU, each
/// line with its object in front; the latter is empty where there are none.
extern const std::string_view kLibrarySymbols, kKernelSymbols;
/// Further flags for a file that is debugged: no optimisation, the sanitizers that the compiler has.
extern const std::vector<std::string> kDebug;
/// The compiler's flags for linking a program that is debugged, in front of the objects.
extern const std::vector<std::string> kDebugLink;
/// The objects around a student's object that is debugged, and the archives of the library.
extern const std::vector<std::string> kDebugStudent;
/// The objects of a lesson's checks.
extern const std::map<int, std::vector<std::string>> kChecks;
/// The objects around these in a program that is debugged, and the archives that they need.
extern const std::vector<std::string> kDebugChecks;
/// The programs ld and objcopy.
extern const std::string_view kLinker, kObjcopy;
/// The precompiled header: all that the exercises' own files include; empty if the
/// compiler has none.
extern const std::string_view kPrecompiled;

}  // namespace ringcraft::judge
