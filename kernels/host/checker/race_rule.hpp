#pragma once
/// @file
/// The rule for data races of two accesses of CUDA threads to the same bytes: one of them writes, not both
/// are atomic, and no barrier lies between. Barriers are __syncthreads (orders all threads of a thread block)
/// and __syncwarp (orders a warp; one of some lanes counts as one of all, so that right kernels are never
/// accused). Shuffles order nothing, and nothing orders thread blocks of a launch.
///
/// Each piece of memory has a Cell that remembers few accesses, and the rule still finds all that a
/// comparison of all pairs finds, in every order of threads:
///   of writers the last one: earlier ones that it does not race with are ordered before it, and what races
///     with one of them races with it, or raced before;
///   of readers, and of atomics, two: of different thread blocks if there are such, else of different warps,
///     else two lanes. An access that races with any of the crowd races with one of these.

#include <array>
#include <cstdint>

namespace ringcraft::simt {

/// The kind of an access.
enum class Access : std::uint8_t { kRead, kWrite, kAtomic };

/// The thread that touched bytes, where and when.
struct Touch {
  std::uint64_t when = 0;    ///< by the clock below; 0: never
  std::uint32_t place = 0;   ///< a Place
  std::uint16_t thread = 0;  ///< of its block
  bool in_flight = false;    ///< a cp.async that no thread has waited for
};

/// Counts barriers, over all launches.
class Clock {
 public:
  /// The number of now.
  std::uint64_t now() const { return now_; }
  /// Everything before it is ordered before everything after it,
  void begin_launch() { launch_ = ++now_; }
  /// none of it, but this thread block is another one,
  void begin_block() {
    block_ = barrier_ = ++now_;
    warps_.fill(now_);
  }
  /// all of this thread block,
  void sync_block() { barrier_ = ++now_; }
  /// all of this warp.
  void sync_warp(int warp) { warps_[static_cast<std::size_t>(warp)] = ++now_; }

  /// Whether it happened in this launch.
  bool in_launch(const Touch& touch) const { return touch.when >= launch_; }
  /// Whether it happened in the thread block that runs now.
  bool in_block(const Touch& touch) const { return touch.when >= block_; }
  /// Whether no __syncthreads came since.
  bool since_barrier(const Touch& touch) const { return touch.when >= barrier_; }
  /// Whether no barrier orders this access, if it was another thread's, before the current one of `thread`.
  bool unordered(const Touch& touch, int thread) const {
    if (!in_launch(touch)) return false;
    if (!in_block(touch)) return true;
    if (!since_barrier(touch) || touch.thread == thread) return false;
    return touch.thread / 32 != thread / 32 || since_warp_barrier(touch);
  }
  /// Whether no barrier of its warp came since.
  bool since_warp_barrier(const Touch& touch) const {
    return touch.when >= warps_[std::size_t{touch.thread} / 32];
  }

 private:
  std::uint64_t now_ = 0, launch_ = 0, block_ = 0, barrier_ = 0;
  std::array<std::uint64_t, 32> warps_{};
};

/// Two of many accesses, chosen so that an access that races with any of them races with one of these.
class Crowd {
 public:
  /// One more. It races with none of those that count.
  void add(const Touch& touch, const Clock& clock) {
    if (!clock.in_launch(first_)) return restart(touch);
    const bool had_second = clock.in_launch(second_);
    if (!clock.in_block(first_)) {  // of another thread block: the second is to be of this one
      if (!had_second || !clock.in_block(second_)) second_ = touch;
      return;
    }
    if (!clock.since_barrier(first_)) return restart(touch);
    if (first_.thread / 32 != touch.thread / 32) {
      second_ = touch;
    } else if (!had_second || second_.thread / 32 == touch.thread / 32) {
      if (!clock.since_warp_barrier(first_)) return restart(touch);
      if (first_.thread != touch.thread) second_ = touch;
    }
  }
  /// One of them that races with the current access of `thread`, or null.
  const Touch* racing(int thread, const Clock& clock) const {
    if (clock.unordered(first_, thread)) return &first_;
    return clock.unordered(second_, thread) ? &second_ : nullptr;
  }

 private:
  void restart(const Touch& touch) {
    first_ = touch;
    second_ = {};
  }
  Touch first_, second_;
};

/// An earlier access, and its kind.
struct Race {
  const Touch* touch;
  Access access;
};

/// The recorded accesses to a piece of memory. All bytes zero: none.
class Cell {
 public:
  /// One of the accesses that race with one of `thread` now; none if `touch` is null.
  Race racing(Access access, int thread, const Clock& clock) const {
    if (clock.unordered(writer_, thread)) return {&writer_, Access::kWrite};
    const Touch* reader = access != Access::kRead ? readers_.racing(thread, clock) : nullptr;
    if (reader != nullptr) return {reader, Access::kRead};
    return {access != Access::kAtomic ? atomics_.racing(thread, clock) : nullptr, Access::kAtomic};
  }
  /// Remembers an access that races with none.
  void add(Access access, const Touch& touch, const Clock& clock) {
    switch (access) {
      case Access::kRead:
        return readers_.add(touch, clock);
      case Access::kWrite:
        writer_ = touch;
        return;
      case Access::kAtomic:
        return atomics_.add(touch, clock);
    }
  }
  /// The last write.
  const Touch& writer() const { return writer_; }
  /// The last write is a copy that has started,
  void depart() { writer_.in_flight = true; }
  /// and that has arrived now.
  void arrive(const Clock& clock) {
    writer_.in_flight = false;
    writer_.when = clock.now();
  }

 private:
  Touch writer_;
  Crowd readers_, atomics_;
};

}  // namespace ringcraft::simt
