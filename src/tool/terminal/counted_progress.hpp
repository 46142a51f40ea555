#pragma once
// A progress bar over work that other threads do and count.

#include <atomic>
#include <string>

#include "ringcraft/core/types.hpp"
#include "tool/terminal/output.hpp"
#include "tool/terminal/ticker.hpp"

namespace ringcraft::tool {

class CountedProgress {
 public:
  explicit CountedProgress(std::string what);

  // So many more units lie ahead.
  void expect(Index units) { total_ += units; }
  // The units that are done; threads add to it.
  std::atomic<Index>& done() { return done_; }

 private:
  void draw();

  std::string what_;
  std::atomic<Index> done_{0}, total_{0};
  Progress bar_{1};
  Ticker ticker_;  // last: it uses all of the others
};

}  // namespace ringcraft::tool
