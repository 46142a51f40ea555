#pragma once
/// @file
/// Random programs for a few threads, run by one kernel: the verdict of the race rule is compared with all
/// pairs of accesses.

#include <cuda_runtime_api.h>

#include <cstdint>

namespace ringcraft::kernels {

inline constexpr int kProgramBlocks = 2, kProgramThreads = 64, kProgramSteps = 10, kProgramCells = 3;

/// The action of all threads at the same step: one of their own, or a barrier.
enum class Together : std::uint8_t { kNothing, kSyncThreads, kSyncWarp };
/// The action of one thread.
enum class Alone : std::uint8_t { kNothing, kRead, kWrite, kAtomic };

/// A step of a thread: `alone` to cell `cell`, then `together`, which for kSyncThreads is that of all threads
/// of the block, and for kSyncWarp that of all of the warp.
struct Step {
  Alone alone;
  std::uint8_t cell;
  bool global;  ///< device memory, or shared
  Together together;
};
/// [block][thread][step]
struct Program {
  Step step[kProgramBlocks][kProgramThreads][kProgramSteps];
};

/// Runs it. `cells` is device memory of kProgramCells integers.
void run_program(const Program& program, int* cells);

}  // namespace ringcraft::kernels
