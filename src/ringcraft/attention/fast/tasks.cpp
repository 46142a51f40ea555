// A queue of tasks, and the threads that empty it.
#include "ringcraft/attention/fast/tasks.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace ringcraft {

void for_each_task(Index count, int threads, const std::function<void(Index, int)>& body) {
  std::atomic<Index> next = 0;
  std::mutex mutex;
  std::exception_ptr thrown;
  const auto work = [&](int thread) {
    for (Index task = next++; task < count; task = next++) {
      try {
        body(task, thread);
      } catch (...) {
        next = count;
        const std::lock_guard lock(mutex);
        if (!thrown) thrown = std::current_exception();
      }
    }
  };
  {
    std::vector<std::jthread> others;  // joined at the end of this block
    for (int thread = 1; thread < std::min<Index>(threads, count); ++thread)
      others.emplace_back(work, thread);
    work(0);
  }
  if (thrown) std::rethrow_exception(thrown);
}

}  // namespace ringcraft
