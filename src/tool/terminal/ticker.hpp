#pragma once
// Something that is drawn four times a second on standard error, if that is a terminal, while others work.

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace ringcraft::tool {

class Ticker {
 public:
  // Calls `draw`, from a thread of its own, until this ends; on a terminal only.
  explicit Ticker(std::function<void()> draw);
  ~Ticker();
  Ticker(const Ticker&) = delete;
  Ticker& operator=(const Ticker&) = delete;

 private:
  std::mutex mutex_;
  std::condition_variable ended_;
  bool over_ = false;
  std::thread thread_;  // last: it uses all of the others
};

}  // namespace ringcraft::tool
