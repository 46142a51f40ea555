// Calls a function four times a second.
#include "tool/terminal/ticker.hpp"

#include <unistd.h>

#include <chrono>
#include <utility>

namespace ringcraft::tool {

Ticker::Ticker(std::function<void()> draw) {
  if (isatty(STDERR_FILENO) != 1) return;
  thread_ = std::thread([this, draw = std::move(draw)] {
    std::unique_lock lock(mutex_);
    while (!ended_.wait_for(lock, std::chrono::milliseconds(250), [this] { return over_; })) draw();
  });
}

Ticker::~Ticker() {
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
  }
  ended_.notify_all();
  if (thread_.joinable()) thread_.join();
}

}  // namespace ringcraft::tool
