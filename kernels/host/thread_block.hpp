#pragma once
/// @file
/// One thread block at a time: its threads as fibers, the running one, and the waits between them.

#include <boost/context/fiber.hpp>
#include <deque>
#include <exception>
#include <string>
#include <vector>

#include "host/async_copies.hpp"
#include "host/device_heap.hpp"
#include "host/executor.hpp"
#include "host/finding.hpp"
#include "ringcraft/core/scratch.hpp"

namespace ringcraft::simt {

inline constexpr int kWarpLanes = 32;
inline constexpr std::size_t kStackBytes = std::size_t{128} << 10;  ///< of one CUDA thread

/// A CUDA thread.
struct Lane {
  Thread thread;
  State state = State::kEnded;
  Site site{};                              ///< where it waits, or waited last
  WarpOperation operation{};                ///< while it waits for its warp: the operation,
  unsigned mask = 0;                        ///< the lanes that take part,
  std::uint64_t value = 0;                  ///< its own value,
  int source = 0;                           ///< the lane that it reads from,
  std::uint64_t result = 0;                 ///< and its result
  int number = 0;                           ///< its place in the block
  AsyncCopies copies;                       ///< those that it has not waited for
  boost::context::fiber fiber;              ///< its fiber, while it does not run
  std::uintptr_t stack_end = 0;             ///< its fiber's stack, once it has run
  bool abandoned = false;                   ///< see ThreadBlock::abandon()
  boost::context::fiber* caller = nullptr;  ///< the fiber that resumed it, while it runs
};

/// The fibers of one thread of the operating system. They live over many thread blocks and launches.
class ThreadBlock {
 public:
  /// Runs one block of the grid. Throws LaunchError if it does not finish, or the exception of a thread.
  void run(const Grid& grid, const Triple& block, const std::function<void()>& thread);

  /// The block that this thread of the operating system runs now.
  static ThreadBlock& current();
  /// The CUDA thread that runs now.
  Lane& lane() { return *running_; }
  /// Its block's dynamic shared memory.
  std::byte* shared() { return shared_.data() + kRedZone; }
  /// See sync_threads() and warp_operation().
  void barrier(Site site);
  std::uint64_t warp(WarpOperation operation, unsigned mask, std::uint64_t value, int source, Site site);
  /// Throws LaunchError, with the thread and the place, unless the address is a multiple of `bytes`.
  void require_aligned(const void* address, std::size_t bytes, const char* what, Site site) const;
  /// The thread of the block whose stack contains this address; -1: none.
  int owner_of_stack(std::uintptr_t address) const;
  /// Ends the block. The running thread stays where it is forever: it must neither continue nor be
  /// unwound.
  void abandon();

 private:
  void begin(const Grid& grid, const Triple& block);
  void make_lanes(std::size_t count);
  void resume(Lane& lane);
  void live(Lane& lane);  // main loop of a fiber: the thread of one block after another
  void wait(State state, Site site);
  void end(Lane& lane);
  void leave_barrier();
  void finish(const Lane& last);
  void finish_matrix(const Lane& last);
  template <class Action>
  void for_mask(const Lane& lane, Action action);
  // About a call of a warp operation, or of cp.async.
  Finding call(Mistake mistake, const Lane& lane, Site site) const;
  // Throws LaunchError, with the places of all threads.
  [[noreturn]] void fail(Finding finding) const;
  [[noreturn]] void fail(Mistake mistake) const;

  const std::function<void()>* thread_ = nullptr;
  std::deque<Lane> lanes_;  // fibers keep addresses of them
  std::vector<std::size_t> turns_;
  std::size_t count_ = 0, ended_ = 0, at_barrier_ = 0;
  Triple block_;
  Lane* running_ = nullptr;
  std::exception_ptr thrown_;
  Scratch<std::byte> shared_;
};

}  // namespace ringcraft::simt
