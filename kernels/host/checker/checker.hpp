#pragma once
/// @file
/// Finds mistakes in a launch: data races, accesses out of an array's bounds or after its lifetime, shared
/// memory that is read before it is written or before its asynchronous copy has been waited for, misaligned
/// accesses. It records every access of kernels that are compiled for it (see instrumented_access.cpp) and
/// tracks three kinds of memory: dynamic shared memory, `__shared__` variables, and cudaMalloc's. It ignores
/// all other memory, a thread's own stack above all, unless threads share it. A launch ends with
/// the first finding.

#include <array>
#include <cstddef>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "host/checker/places.hpp"
#include "host/checker/race_rule.hpp"
#include "host/checker/shadow.hpp"
#include "host/checker/traffic.hpp"
#include "host/device_heap.hpp"
#include "host/executor.hpp"
#include "host/finding.hpp"

namespace ringcraft::simt {

/// The launch that is being checked.
class Checker {
 public:
  /// The one of the launch that this thread of the operating system runs now, or null: not checked.
  static constinit thread_local Checker* running;

  /// Checks the launches of this thread of the operating system, for the life of this object.
  Checker();
  ~Checker();
  Checker(const Checker&) = delete;
  Checker& operator=(const Checker&) = delete;

  /// A thread block begins, with this dynamic shared memory.
  void begin_block(const Triple& block, const std::byte* shared, std::size_t bytes);
  /// It has ended: throws LaunchError if something was found in it.
  void end_block();
  /// Thread `number` of the block runs now, on a stack of kStackBytes that ends here (0: not known yet).
  void resume(int number, std::uintptr_t stack_end) {
    thread_ = number;
    stack_end_ = stack_end;
  }
  /// All threads of the block have met, or all of a warp.
  void sync_block();
  void sync_warp(int warp) { clock_.sync_warp(warp); }  ///< see above

  /// The running thread accesses some bytes. `whole`: by one instruction of a GPU, which requires an address
  /// that is a multiple of their number.
  void access(const void* address, std::size_t bytes, Access what, Place place, bool whole = false) {
    access_by(thread_, address, bytes, what, place, whole);
  }
  /// A thread of the block does.
  void access_by(int thread, const void* address, std::size_t bytes, Access what, Place place,
                 bool whole = false);
  /// The running thread starts a cp.async (`from` is null where it brings 0), and has waited for one.
  void copy_starts(const void* to, const void* from, std::size_t bytes, Place place);
  void copy_arrives(const void* to, std::size_t bytes);  ///< see above
  /// ldmatrix reads a row of 16 bytes: 4 for each of four lanes of the running thread's warp, the first one
  /// and every `step`-th after it.
  void matrix_row(const void* row, int first_lane, int step, Place place);
  /// A warp reads 8 such rows at a time.
  void count_matrix(const void* const (&rows)[8], Place place);
  /// mma takes an operand from here, which stands for registers.
  void product_takes(const void* operand, Place place);
  /// A warp multiplies two matrices by mma; `ahead`: while a copy of the running thread is in flight.
  void count_product(Place place, bool ahead);

 private:
  // Memory that is known.
  struct Region {
    enum Kind { kUnknown, kDynamic, kStatic, kDevice } kind = kUnknown;
    std::uintptr_t first = 0;
    std::size_t bytes = 0;
    Shadow* shadow = nullptr;
    const Piece* piece = nullptr;
  };
  struct Known {
    Piece piece;
    Shadow shadow;
  };
  // An access that is being looked at.
  struct Seen {
    const Region& region;
    std::size_t offset, bytes;
    Access what;
    Place place;
    int thread;
    bool whole;
  };

  Region find(std::uintptr_t address);
  Region find_piece(std::uintptr_t address);
  const StaticArray* nearest_array(std::size_t offset);
  bool within_bounds(const Seen& seen);
  void look_elsewhere(std::uintptr_t address, std::size_t bytes, Access what, Place place, int thread);
  void look_at(const Seen& seen, Cell& cell, std::size_t offset);

  FoundMemory memory_of(const Region& region, std::size_t offset);
  FoundAccess access_of(const Touch& touch, Access what) const;
  Finding about(Mistake mistake, int thread, Access what, Place place) const;
  Finding about(Mistake mistake, const Seen& seen, std::size_t offset);
  void found_race(const Seen& seen, std::size_t offset, const Race& race);
  void found_in_flight(const Seen& seen, std::size_t offset, const Touch& copy);
  void found_not_own(Mistake mistake, Access what, Place place, int owner, bool other_block);

  Clock clock_;
  int thread_ = 0;
  std::uintptr_t stack_end_ = 0;
  std::vector<std::pair<std::uint64_t, Triple>> blocks_;  // since when each runs
  std::uintptr_t dynamic_first_ = 0, static_first_ = 0;
  std::size_t dynamic_bytes_ = 0, static_bytes_ = 0;
  Shadow dynamic_, static_;
  std::vector<Known> pieces_;  // by address
  // Words of 4 bytes outside of all known memory: which block of the launch, and which of its threads, wrote
  // there last.
  std::unordered_map<std::uintptr_t, std::pair<std::size_t, int>> elsewhere_;
  std::array<std::uintptr_t, 64> no_stack_{};  // pages that are known to be no thread's stack
  Known* last_piece_ = nullptr;
  const StaticArray* last_array_ = nullptr;
  std::optional<Finding> finding_;
  std::optional<Finding> suspicion_;  // becomes the finding if nothing clearer comes: a read before a write
  bool counts_ = settings().count_traffic;
  Traffic traffic_;
};

/// Whether launches are checked: kernels that are compiled for it are linked, and the settings ask for it.
bool checks_launches();
/// Says that such kernels are linked.
void expect_instrumented_kernels();

}  // namespace ringcraft::simt
