#pragma once
/// @file
/// A mistake in a launch, as data: it travels from a program that runs kernels to one that judges them, and
/// only sentence_of() puts it into words. Standard library only, so that a program that judges links no
/// executor.

#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "host/checker/race_rule.hpp"
#include "host/executor.hpp"
#include "ringcraft/core/error.hpp"

namespace ringcraft::simt {

/// A place in a kernel's source.
struct CodePlace {
  /// "03_online_softmax.cu:114", followed in brackets by the header that contains the line, if one does.
  /// Empty: only the machine code is known.
  std::string line;
  std::uint64_t code = 0;  ///< address of the machine code in its program; 0: not requested

  static auto fields(auto& p) { return std::tie(p.line, p.code); }
};
/// The line, or else "machine code +0x1f".
std::string text_of(const CodePlace& place);
/// "(1, 2, 3)"
std::string text_of(const Triple& triple);

/// The state of a thread.
enum class State : std::uint8_t {
  kReady,    ///< it runs, or may run
  kBarrier,  ///< it waits at __syncthreads
  kWarp,     ///< it waits for lanes of its warp
  kEnded,    ///< it has left the kernel
};

/// Kinds of mistakes in a kernel.
enum class Mistake : std::uint8_t {
  // An access
  kRace,          ///< two threads, and nothing orders them
  kOutOfBounds,   ///< beside an array
  kFreed,         ///< after the array's life
  kMisaligned,    ///< at an address that one instruction cannot take
  kUnwritten,     ///< to shared memory that no thread of the block has written
  kInFlight,      ///< before the cp.async that brings the bytes has been waited for
  kThreadsOwn,    ///< to another thread's own variable
  kHostsMemory,   ///< to memory of the host that another thread has written
  kNotShared,     ///< ldmatrix, of an address that is not in shared memory
  kNotRegisters,  ///< mma, with an operand in memory
  // A launch
  kTooMuchShared,  ///< its `__shared__` variables need more than a thread block gets
  // A thread block that does not end; Finding::standing has the places of all threads
  kStuck,              ///< threads wait, and no thread can release them
  kAbandoned,          ///< a thread cannot continue
  kAfterTheEnd,        ///< a barrier, when threads have left the kernel
  kDifferentBarriers,  ///< threads of one block
  kLeftOut,            ///< a mask leaves out the thread that calls
  kAbsentLane,         ///< a shuffle asks a lane that takes no part
  kShortWarp,          ///< of fewer than 32 threads, for an instruction that needs them all
  kCrooked,            ///< an address that is not a multiple of what cp.async or ldmatrix requires
};

/// The synchronisation that would have to order two accesses that race.
enum class Ordering : std::uint8_t {
  kNothing,  ///< they are of two thread blocks
  kWarp,     ///< a barrier of their warp would do
  kBlock,    ///< a barrier of their thread block
};

/// The memory that an access is about.
struct FoundMemory {
  /// Which.
  enum class Kind : std::uint8_t { kNone, kDevice, kStatic, kDynamic };
  Kind kind = Kind::kNone;
  std::string name;         ///< of the `__shared__` variable, or of the array in device memory; may be empty
  int piece = 0;            ///< of device memory: which cudaMalloc gave it, counted from 1
  std::int64_t offset = 0;  ///< bytes from its begin
  std::uint64_t bytes = 0;  ///< that it has

  static auto fields(auto& m) { return std::tie(m.kind, m.name, m.piece, m.offset, m.bytes); }
};

/// The action of a thread.
struct FoundAccess {
  int thread = 0;     ///< of its block
  Triple block = {};  ///< of a thread in another block than the finding's
  bool other_block = false;
  Access what = Access::kRead;
  CodePlace place;

  static auto fields(auto& a) {
    return std::tie(a.thread, a.block.x, a.block.y, a.block.z, a.other_block, a.what, a.place);
  }
};

/// Threads of a block that wait at the same place.
struct FoundThreads {
  State state = State::kReady;
  WarpOperation operation = WarpOperation::kSync;  ///< that they wait for, as the next two
  std::uint32_t mask = 0;
  CodePlace place;
  std::vector<int> threads;  ///< rising

  static auto fields(auto& t) { return std::tie(t.state, t.operation, t.mask, t.place, t.threads); }
};

/// The first thing that is wrong with a launch.
struct Finding {
  Mistake mistake = Mistake::kStuck;
  Triple block = {};    ///< the thread block that shows it
  FoundAccess access;   ///< the access, or the call
  FoundAccess earlier;  ///< of a race the other one; of kInFlight the copy; of memory that is another's its
                        ///< owner
  FoundMemory memory;
  std::uint64_t bytes = 0;  ///< of the access; that an address should be a multiple of; of shared memory
  Ordering ordering = Ordering::kNothing;          ///< of a race
  WarpOperation operation = WarpOperation::kSync;  ///< of a warp, that went wrong
  std::uint32_t mask = 0;                          ///< that it was called with
  int lane = 0;                                    ///< that it requested
  std::string name;  ///< of the kernel with too much shared memory; empty: any. Of what is kCrooked: the call
  std::vector<FoundThreads> standing;  ///< see Mistake

  static auto fields(auto& f) {
    return std::tie(f.mistake, f.block.x, f.block.y, f.block.z, f.access, f.earlier, f.memory, f.bytes,
                    f.ordering, f.operation, f.mask, f.lane, f.name, f.standing);
  }
};

/// The finding in one sentence.
std::string sentence_of(const Finding& finding);

/// Calls seen(place) for every place that the sentence names.
template <class Found, class Seen>
void for_each_place(Found& finding, Seen seen) {
  seen(finding.access.place);
  seen(finding.earlier.place);
  for (auto& threads : finding.standing) seen(threads.place);
}

/// A launch that ends with a finding.
class LaunchError : public Error {
 public:
  explicit LaunchError(Finding finding)
      : Error(sentence_of(finding), Code::kWrongAnswer), finding_(std::move(finding)) {}
  const Finding& finding() const { return finding_; }  ///< the data of the sentence

 private:
  Finding finding_;
};

}  // namespace ringcraft::simt
