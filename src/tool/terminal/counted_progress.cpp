// Draws what is done four times a second.
#include "tool/terminal/counted_progress.hpp"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "tool/terminal/output.hpp"

namespace ringcraft::tool {

CountedProgress::CountedProgress(std::string what) : what_(std::move(what)) {
  if (isatty(STDERR_FILENO) == 1) thread_ = std::thread([this] { draw(); });
}

CountedProgress::~CountedProgress() {
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
  }
  ended_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void CountedProgress::draw() {
  using namespace std::chrono_literals;
  Progress bar(1);
  std::unique_lock lock(mutex_);
  while (!ended_.wait_for(lock, 250ms, [this] { return over_; })) {
    const auto done = static_cast<double>(done_.load());
    bar.at(done / static_cast<double>(std::max<Index>(total_.load(), 1)), what_);
  }
}

}  // namespace ringcraft::tool
