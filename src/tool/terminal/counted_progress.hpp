#pragma once
// A progress bar over work that other threads do and count.

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

#include "ringcraft/core/types.hpp"

namespace ringcraft::tool {

class CountedProgress {
 public:
  explicit CountedProgress(std::string what);
  ~CountedProgress();
  CountedProgress(const CountedProgress&) = delete;
  CountedProgress& operator=(const CountedProgress&) = delete;

  // So many more units lie ahead.
  void expect(Index units) { total_ += units; }
  // The units that are done; threads add to it.
  std::atomic<Index>& done() { return done_; }

 private:
  void draw();

  std::string what_;
  std::atomic<Index> done_{0}, total_{0};
  std::mutex mutex_;
  std::condition_variable ended_;
  bool over_ = false;
  std::thread thread_;  // last: it uses all of the others
};

}  // namespace ringcraft::tool
