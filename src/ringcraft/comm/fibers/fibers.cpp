// N ranks as N fibers over one switchboard. A rank runs until it has to wait, then the next one that can go
// on.
#include "ringcraft/comm/fibers/fibers.hpp"

#include <algorithm>
#include <deque>
#include <memory>
#include <utility>

#ifdef RINGCRAFT_HAS_FIBERS
#include <cxxabi.h>

#include <boost/context/fiber.hpp>
#include <boost/context/protected_fixedsize_stack.hpp>
#endif

#include "ringcraft/comm/detail/first_failure_detail.hpp"
#include "ringcraft/core/error.hpp"

namespace ringcraft {

#ifndef RINGCRAFT_HAS_FIBERS

bool has_fibers() { return false; }

RanksReport run_fibers(int world_size, const std::function<void(ThreadCommunicator&)>& body,
                       SwitchboardOptions options) {
  return run_ranks(world_size, body, std::move(options));
}

#else

namespace {

constexpr std::size_t kStackBytes = std::size_t{128} << 10;

// Exceptions that are being handled, which the compiler's runtime keeps for each thread (Itanium C++ ABI,
// __cxa_eh_globals). Each fiber has its own.
struct Exceptions {
  void* caught = nullptr;
  unsigned uncaught = 0;

  static Exceptions& of_thread() { return *reinterpret_cast<Exceptions*>(abi::__cxa_get_globals()); }
};

// One stack that takes turns with its caller's.
class Task {
 public:
  // The body must not throw.
  explicit Task(std::function<void()> body)
      : fiber_(std::allocator_arg, boost::context::protected_fixedsize_stack(kStackBytes),
               [this, body = std::move(body)](boost::context::fiber&& caller) {
                 caller_ = std::move(caller);
                 body();
                 return std::move(caller_);
               }) {}

  // Called by the scheduler: runs the body up to its next pause, or to its end.
  void resume() {
    change_thread_state();
    fiber_ = std::move(fiber_).resume();
    change_thread_state();
  }
  // Called by the body: returns when the scheduler resumes it.
  void pause() { caller_ = std::move(caller_).resume(); }

 private:
  void change_thread_state() {
    meter_ = MeterScope::exchange(std::move(meter_));
    std::swap(Exceptions::of_thread(), exceptions_);
  }

  boost::context::fiber fiber_, caller_;
  std::shared_ptr<MemoryMeter> meter_;
  Exceptions exceptions_;
};

class FiberRank;

struct FiberWorld {
  FiberWorld(int world_size, SwitchboardOptions options)
      : board(world_size, with_turns(std::move(options))) {}

  SwitchboardOptions with_turns(SwitchboardOptions options) {
    options.released = [this](int rank) {
      if (rank != running) ready.push_back(rank);  // its own wait, over at once, is no pause
    };
    return options;
  }

  std::deque<int> ready;  // whose turn is next
  int running = 0;
  Switchboard board;
  FirstFailure first;
};

class FiberRank final : public ThreadCommunicator {
 public:
  FiberRank(FiberWorld& world, int rank, int world_size, const std::function<void(ThreadCommunicator&)>& body)
      : ThreadCommunicator(rank, world_size, Space::kHost),
        world_(world),
        meter_(std::make_shared<MemoryMeter>()),
        task_([this, &body] { run(body); }) {}

  void advance(double seconds) override { world_.board.advance(rank(), seconds); }
  double clock() override { return world_.board.clock(rank()); }

  void take_turn() { task_.resume(); }
  bool sleeps() const { return sleeps_; }
  Index peak_bytes() const { return meter_->peak(); }

 private:
  std::uint64_t do_start(std::span<const Op> ops) override { return world_.board.post(rank(), ops); }

  void do_wait(std::uint64_t ticket) override {
    if (world_.board.begin_wait(rank(), ticket)) return;
    sleeps_ = true;
    task_.pause();
    sleeps_ = false;
    if (world_.board.is_waiting(rank())) throw Switchboard::Failed(*world_.board.failure());
  }

  void do_give_up() override {
    world_.board.fail("rank " + std::to_string(rank()) +
                      " ended with an exception while messages were under way");
  }

  void run(const std::function<void(ThreadCommunicator&)>& body) {
    std::exception_ptr failure;
    try {
      const MeterScope scope(meter_);
      body(*this);
    } catch (...) {
      failure = std::current_exception();
    }
    world_.first.end(world_.board, rank(), failure);
  }

  FiberWorld& world_;
  std::shared_ptr<MemoryMeter> meter_;
  bool sleeps_ = false;
  Task task_;
};

}  // namespace

bool has_fibers() { return true; }

RanksReport run_fibers(int world_size, const std::function<void(ThreadCommunicator&)>& body,
                       SwitchboardOptions options) {
  if (world_size < 1) throw Error("ranks", "at least 1", std::to_string(world_size), "use 4, say");
  FiberWorld world(world_size, std::move(options));
  std::vector<std::unique_ptr<FiberRank>> ranks;
  for (int rank = 0; rank < world_size; ++rank) {
    ranks.push_back(std::make_unique<FiberRank>(world, rank, world_size, body));
    world.ready.push_back(rank);
  }
  bool failed = false;
  while (!world.ready.empty()) {
    world.running = world.ready.front();
    world.ready.pop_front();
    ranks[static_cast<std::size_t>(world.running)]->take_turn();
    if (failed || !world.board.failure()) continue;
    failed = true;  // ranks that wait learn it now
    for (int sleeper = 0; sleeper < world_size; ++sleeper)
      if (ranks[static_cast<std::size_t>(sleeper)]->sleeps() &&
          std::ranges::find(world.ready, sleeper) == world.ready.end())
        world.ready.push_back(sleeper);
  }
  world.first.rethrow();
  RanksReport report;
  for (int rank = 0; rank < world_size; ++rank) {
    const FiberRank& one = *ranks[static_cast<std::size_t>(rank)];
    report.traffic.push_back(one.traffic());
    report.clock.push_back(world.board.clock(rank));
    report.peak_bytes.push_back(one.peak_bytes());
  }
  return report;
}

#endif

}  // namespace ringcraft
