// Shows the seconds of the current phase.
#include "tool/terminal/phases.hpp"

#include <cstdio>

namespace ringcraft::tool {

Phases::Phases() {
  ticker_.emplace([this] { draw(); });
}

Phases::~Phases() {
  ticker_.reset();
  if (drawn_) std::fputs("\r\033[K", stderr);
}

void Phases::begin(const std::string& what) {
  const std::lock_guard lock(mutex_);
  what_ = what;
  phase_ = std::chrono::steady_clock::now();
}

void Phases::rename(const std::string& what) {
  const std::lock_guard lock(mutex_);
  what_ = what;
}

void Phases::draw() {
  using namespace std::chrono_literals;
  const std::lock_guard lock(mutex_);
  const auto now = std::chrono::steady_clock::now();
  if (now - start_ < 2s || what_.empty()) return;
  std::fprintf(
      stderr, "\r%s: %lld s\033[K", what_.c_str(),
      static_cast<long long>(std::chrono::duration_cast<std::chrono::seconds>(now - phase_).count()));
  std::fflush(stderr);
  drawn_ = true;
}

}  // namespace ringcraft::tool
