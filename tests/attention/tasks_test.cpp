// The queue of tasks: each is run once, in order on one thread, and exceptions reach the caller.
#include "ringcraft/attention/fast/tasks.hpp"

#include <atomic>
#include <mutex>
#include <numeric>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

#include "support/catch.hpp"

using namespace ringcraft;

TEST_CASE("every task is run once, by threads with different numbers") {
  for (const int threads : {1, 2, 3, 8})
    for (const Index count : {0, 1, 2, 5, 100}) {
      CAPTURE(threads, count);
      std::vector<std::atomic<int>> runs(static_cast<std::size_t>(count));
      std::vector<std::atomic<int>> inside(static_cast<std::size_t>(threads));
      std::atomic<bool> right = true;
      for_each_task(count, threads, [&](Index task, int thread) {
        right = right && thread >= 0 && thread < threads;
        right = right && ++inside[static_cast<std::size_t>(thread)] == 1;  // no other thread is this one
        ++runs[static_cast<std::size_t>(task)];
        --inside[static_cast<std::size_t>(thread)];
      });
      CHECK(right);
      for (const auto& n : runs) CHECK(n == 1);
    }
}

TEST_CASE("one thread runs the tasks in order, by itself") {
  std::vector<Index> order;
  for_each_task(6, 1, [&, here = std::this_thread::get_id()](Index task, int thread) {
    CHECK(std::this_thread::get_id() == here);
    CHECK(thread == 0);
    order.push_back(task);
  });
  CHECK(order == std::vector<Index>{0, 1, 2, 3, 4, 5});
}

TEST_CASE("several threads work at the same time") {
  std::atomic<int> waiting = 0;
  for_each_task(2, 2, [&](Index, int) {
    ++waiting;
    while (waiting < 2) std::this_thread::yield();  // ends only if the other task runs meanwhile
  });
  CHECK(waiting == 2);
}

TEST_CASE("the exception of a task reaches the caller, and no further task is started") {
  for (const int threads : {1, 3}) {
    std::atomic<int> runs = 0;
    CHECK_THROWS_WITH(for_each_task(1000, threads,
                                    [&](Index task, int) {
                                      ++runs;
                                      if (task == 4) throw std::runtime_error("task 4");
                                      if (task > 4) std::this_thread::sleep_for(std::chrono::milliseconds(1));
                                    }),
                      "task 4");
    CHECK(runs < 1000);
  }
}
