#pragma once
/// @file
/// Streams of the host executor. Under a seed (Settings::stream_seed) a stream is a queue: enqueued
/// work is done later, by the next call or by one that must wait for it. Work of one stream keeps its order;
/// work of two streams has only the order that events give it, and the seed draws one of those that are left:
/// each stream has a rank of urgency, now and then a new one, and the most urgent that can continue does. So
/// some stream lags as far as it may, and code without a wait for it reads old bytes. Without a seed work is
/// done when it is enqueued, which is an order that CUDA allows, too.

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <vector>

#include "host/cuda_runtime_api.h"

namespace ringcraft::simt {

/// The place in a stream where an event was recorded.
struct Mark {
  bool reached = false;
  std::chrono::steady_clock::time_point when = {};  ///< if it is reached
};

}  // namespace ringcraft::simt

/// A queue.
struct RingcraftStream {
  /// One piece of work.
  struct Task {
    std::function<void()> work;
    std::shared_ptr<const ringcraft::simt::Mark> after;  ///< it begins when this is reached; null: at once
  };
  std::deque<Task> tasks;  ///< not done yet
  std::string failure;     ///< the message of the first exception of its work
  std::uint64_t urgency = 0;
};
/// The place of its last record; null: none.
struct RingcraftEvent {
  std::shared_ptr<ringcraft::simt::Mark> mark;
};

namespace ringcraft::simt {

/// All streams except the default one, whose work always runs at once. Any thread of the operating system may
/// call.
class Streams {
 public:
  /// Those of this process.
  static Streams& get();

  RingcraftStream* create();
  /// Finishes the remaining work first.
  void destroy(RingcraftStream* stream);

  /// Enqueues work. An exception of it is thrown here without a seed; else by the call that synchronises the
  /// stream.
  void enqueue(RingcraftStream* stream, std::function<void()> work);
  /// Records an event.
  void record(RingcraftEvent* event, RingcraftStream* stream);
  /// Work enqueued from now on waits for the event's latest record; for an event that has none it does not.
  /// Settings::left_out may name the place.
  void wait(RingcraftStream* stream, const RingcraftEvent* event, Site site);

  /// Returns when the stream is empty, with the failure of its work, if any.
  std::string finish(RingcraftStream* stream);
  /// Returns when the event's latest record is reached. Settings::left_out may name the place.
  void finish(const RingcraftEvent* event, Site site);
  /// Whether the event's latest record is reached; does no work.
  bool is_reached(const RingcraftEvent* event);
  /// Returns when all streams are empty.
  void finish_all();

 private:
  void enqueue_locked(RingcraftStream* stream, RingcraftStream::Task task);
  void do_some();
  bool do_one();
  void do_all_of(RingcraftStream* stream);

  std::mutex mutex_;
  std::vector<std::unique_ptr<RingcraftStream>> streams_;
  std::uint64_t seed_ = 0;
  std::mt19937_64 random_;
};

}  // namespace ringcraft::simt
