// Shows the seconds of the current phase.
#include "tool/terminal/phases.hpp"

#include <unistd.h>

#include <cstdio>

namespace ringcraft::tool {

Phases::Phases() {
  if (isatty(STDERR_FILENO) == 1) thread_ = std::thread([this] { draw(); });
}

Phases::~Phases() {
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
  }
  ended_.notify_all();
  if (thread_.joinable()) thread_.join();
  if (drawn_) std::fputs("\r\033[K", stderr);
}

void Phases::begin(const std::string& what) {
  const std::lock_guard lock(mutex_);
  what_ = what;
  phase_ = std::chrono::steady_clock::now();
}

void Phases::draw() {
  using namespace std::chrono_literals;
  std::unique_lock lock(mutex_);
  while (!ended_.wait_for(lock, 250ms, [this] { return over_; })) {
    const auto now = std::chrono::steady_clock::now();
    if (now - start_ < 2s || what_.empty()) continue;
    std::fprintf(
        stderr, "\r%s: %lld s\033[K", what_.c_str(),
        static_cast<long long>(std::chrono::duration_cast<std::chrono::seconds>(now - phase_).count()));
    std::fflush(stderr);
    drawn_ = true;
  }
}

}  // namespace ringcraft::tool
