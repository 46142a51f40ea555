#pragma once
// Progress of work without a known amount: shows the current phase and its seconds, on standard error, once
// two seconds have passed and only on a terminal.

#include <chrono>
#include <mutex>
#include <optional>
#include <string>

#include "tool/terminal/ticker.hpp"

namespace ringcraft::tool {

class Phases {
 public:
  Phases();
  ~Phases();  // clears the line
  Phases(const Phases&) = delete;
  Phases& operator=(const Phases&) = delete;

  // A phase begins: "comparing with the oracle".
  void begin(const std::string& what);
  // The same phase in other words: "2 of 3 ranks have come".
  void rename(const std::string& what);

 private:
  void draw();

  std::mutex mutex_;  // of the phase
  bool drawn_ = false;
  std::string what_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now(), phase_ = start_;
  std::optional<Ticker> ticker_;  // last: it uses all of the others
};

}  // namespace ringcraft::tool
