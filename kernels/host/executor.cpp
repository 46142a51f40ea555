// Launches: thread blocks over the threads of the operating system.
#include "host/executor.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <numeric>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "host/checker/checker.hpp"
#include "host/device_heap.hpp"
#include "host/thread_block.hpp"
#include "ringcraft/core/error.hpp"

namespace ringcraft::simt {
namespace {

// The thread blocks of one launch: a thread that is free takes the next one.
class Launch {
 public:
  Launch(const Grid& grid, const std::function<void()>& thread) : grid_(grid), thread_(thread) {
    if (settings().block_seed == 0) return;
    order_.resize(grid.blocks.count());
    std::iota(order_.begin(), order_.end(), std::size_t{0});
    std::mt19937_64 random(settings().block_seed);
    std::shuffle(order_.begin(), order_.end(), random);
  }

  void work() {
    const std::size_t count = grid_.blocks.count();
    for (std::size_t turn = next_++; turn < count && !failed_; turn = next_++) {
      const auto [x, y, z] = grid_.blocks;
      const std::size_t i = order_.empty() ? turn : order_[turn];
      try {
        ThreadBlock::current().run(grid_,
                                   {static_cast<unsigned>(i % x), static_cast<unsigned>(i / x % y),
                                    static_cast<unsigned>(i / x / y)},
                                   thread_);
      } catch (...) {
        const std::lock_guard lock(failing_);
        if (!failed_) failure_ = std::current_exception();
        failed_ = true;
      }
    }
  }

  void rethrow() const {
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  const Grid& grid_;
  const std::function<void()>& thread_;
  std::vector<std::size_t> order_;  // of the thread blocks; empty: by their index
  std::atomic<std::size_t> next_{0};
  std::atomic<bool> failed_{false};
  std::mutex failing_;
  std::exception_ptr failure_;
};

// Helpers that live as long as the process: making a thread costs more than a small launch. One launch has
// them at a time; another one that comes meanwhile runs on its own thread alone.
class Helpers {
 public:
  ~Helpers() {
    {
      const std::lock_guard lock(mutex_);
      ending_ = true;
    }
    wake_.notify_all();
    for (std::thread& helper : threads_) helper.join();
  }

  void help(Launch& launch, std::size_t wanted) {
    const std::unique_lock busy(owner_, std::try_to_lock);
    if (!busy.owns_lock() || wanted == 0) return launch.work();
    {
      const std::lock_guard lock(mutex_);
      while (threads_.size() < wanted) threads_.emplace_back([this] { serve(); });
      launch_ = &launch;
      seats_ = wanted;
    }
    wake_.notify_all();
    launch.work();
    std::unique_lock lock(mutex_);
    seats_ = 0;
    done_.wait(lock, [this] { return at_work_ == 0; });
    launch_ = nullptr;
  }

 private:
  void serve() {
    std::unique_lock lock(mutex_);
    for (;;) {
      wake_.wait(lock, [this] { return ending_ || seats_ > 0; });
      if (ending_) return;
      --seats_;
      ++at_work_;
      Launch& launch = *launch_;
      lock.unlock();
      launch.work();
      lock.lock();
      if (--at_work_ == 0) done_.notify_all();
    }
  }

  std::mutex owner_, mutex_;
  std::condition_variable wake_, done_;
  std::vector<std::thread> threads_;
  Launch* launch_ = nullptr;
  std::size_t seats_ = 0, at_work_ = 0;
  bool ending_ = false;
};

std::size_t helpers_for(const Grid& grid) {
  const int workers =
      settings().workers != 0 ? settings().workers : static_cast<int>(std::thread::hardware_concurrency());
  constexpr std::size_t kThreadsWorthHelp = 512;  // waking a helper costs as much as running some hundred
  if (grid.blocks.count() * grid.threads.count() < kThreadsWorthHelp) return 0;
  return std::min(grid.blocks.count(), static_cast<std::size_t>(std::max(workers, 1))) - 1;
}

std::exception_ptr first_failure;  // one launch at a time is checked

}  // namespace

void forget_failure() { first_failure = nullptr; }

void rethrow_failure() {
  if (first_failure) std::rethrow_exception(first_failure);
}

namespace {

struct alignas(4096) SettingsPage {  // alone on its pages
  Settings settings;
};

SettingsPage& settings_page() {
  static SettingsPage page;
  return page;
}

void allow_on_settings(int access) { ::mprotect(&settings_page(), sizeof(SettingsPage), access); }

bool settings_are_fixed = false;

}  // namespace

Settings& settings() { return settings_page().settings; }

FixedSettings::FixedSettings() {
  allow_on_settings(PROT_READ);
  settings_are_fixed = true;
}

FixedSettings::~FixedSettings() {
  settings_are_fixed = false;
  allow_on_settings(PROT_READ | PROT_WRITE);
}

bool is_left_out(Site site) {
  LeftOut& out = settings().left_out;
  if (out.line == 0 || out.line != site.line || !std::string_view(site.file).ends_with(out.file))
    return false;
  ++out.times;
  return true;
}

void run(const Grid& grid, const std::function<void()>& thread) {
  constexpr std::size_t kMostThreads = 1024, kMostShared = 227 << 10;
  if (grid.threads.count() < 1 || grid.threads.count() > kMostThreads)
    throw Error("launch", "1 to 1024 threads in a block", std::to_string(grid.threads.count()),
                "choose a smaller block");
  if (grid.shared_bytes > kMostShared)
    throw Error("launch", "at most " + std::to_string(kMostShared) + " bytes of shared memory",
                std::to_string(grid.shared_bytes), "choose smaller tiles");
  if (settings().launches == 0) return;
  if (settings().launches > 0) {
    if (settings_are_fixed) allow_on_settings(PROT_READ | PROT_WRITE);
    --settings().launches;
    if (settings_are_fixed) allow_on_settings(PROT_READ);
  }
  Launch launch(grid, thread);
  const DeviceAccess access;
  if (checks_launches()) {
    static std::mutex one_at_a_time;
    const std::lock_guard lock(one_at_a_time);
    const Checker checker;
    launch.work();
    try {
      return launch.rethrow();
    } catch (...) {
      if (!first_failure) first_failure = std::current_exception();
      throw;
    }
  }
  static Helpers helpers;
  helpers.help(launch, helpers_for(grid));
  launch.rethrow();
}

const Thread& this_thread() { return ThreadBlock::current().lane().thread; }
int this_lane() { return ThreadBlock::current().lane().number % kWarpLanes; }
std::byte* shared_memory() { return ThreadBlock::current().shared(); }
void sync_threads(Site site) {
  if (!is_left_out(site)) ThreadBlock::current().barrier(site);
}
std::uint64_t warp_operation(WarpOperation operation, unsigned mask, std::uint64_t value, int source,
                             Site site) {
  if (operation == WarpOperation::kSync && is_left_out(site)) return 0;
  return ThreadBlock::current().warp(operation, mask, value, source, site);
}

}  // namespace ringcraft::simt
