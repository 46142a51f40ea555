// N ranks as N threads over one switchboard.
#include "ringcraft/comm/threads.hpp"

#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include "ringcraft/comm/detail/first_failure_detail.hpp"
#include "ringcraft/core/error.hpp"

namespace ringcraft {
namespace {

// The switchboard with its lock, and the failure that is reported.
struct World {
  World(int world_size, SwitchboardOptions options)
      : released(static_cast<std::size_t>(world_size)), board(world_size, with_wakes(std::move(options))) {}

  SwitchboardOptions with_wakes(SwitchboardOptions options) {
    options.released = [this](int rank) { awake.push_back(rank); };
    return options;
  }
  // Wakes the ranks that need not sleep any more: each sleeps by itself, since one call that woke all of them
  // would cost as many switches of threads. Without the lock, for which they would only queue up.
  void wake(std::unique_lock<std::mutex> lock) {
    const std::vector<int> ranks = std::exchange(awake, {});
    const bool all = board.failure().has_value();
    lock.unlock();
    for (const int rank : ranks) released[static_cast<std::size_t>(rank)].notify_one();
    if (!all) return;
    for (std::condition_variable& one : released) one.notify_one();
  }

  std::mutex mutex;
  std::vector<std::condition_variable> released;  // by rank: where it sleeps
  std::vector<int> awake;                         // released, and not told yet
  Switchboard board;
  FirstFailure first;
};

class ThreadRank final : public ThreadCommunicator {
 public:
  ThreadRank(World& world, int rank, int world_size)
      : ThreadCommunicator(rank, world_size, Space::kHost), world_(world) {}

  void advance(double seconds) override {
    const std::lock_guard lock(world_.mutex);
    world_.board.advance(rank(), seconds);
  }

  double clock() override {
    const std::lock_guard lock(world_.mutex);
    return world_.board.clock(rank());
  }

 private:
  std::uint64_t do_start(std::span<const Op> ops) override {
    const Wake wake(world_);
    return world_.board.post(rank(), ops);
  }

  void do_wait(std::uint64_t ticket) override {
    if (begin_wait(ticket)) return;
    std::unique_lock lock(world_.mutex);
    world_.released[static_cast<std::size_t>(rank())].wait(
        lock, [&] { return world_.board.failure() || !world_.board.is_waiting(rank()); });
    if (world_.board.is_waiting(rank())) throw Switchboard::Failed(*world_.board.failure());
  }

  void do_give_up() override {
    const Wake wake(world_);
    world_.board.fail("rank " + std::to_string(rank()) +
                      " ended with an exception while messages were under way");
  }

  bool begin_wait(std::uint64_t ticket) {
    const Wake wake(world_);
    return world_.board.begin_wait(rank(), ticket);
  }

  struct Wake {  // holds the lock, and then wakes those that need not sleep any more
    explicit Wake(World& w) : world(w), lock(w.mutex) {}
    ~Wake() { world.wake(std::move(lock)); }
    World& world;
    std::unique_lock<std::mutex> lock;
  };

  World& world_;
};

void run_rank(World& world, ThreadCommunicator& comm, const std::function<void(ThreadCommunicator&)>& body) {
  std::exception_ptr failure;
  try {
    body(comm);
  } catch (...) {
    failure = std::current_exception();
  }
  std::unique_lock lock(world.mutex);
  world.first.end(world.board, comm.rank(), failure);
  world.wake(std::move(lock));
}

}  // namespace

RanksReport run_ranks(int world_size, const std::function<void(ThreadCommunicator&)>& body,
                      SwitchboardOptions options) {
  if (world_size < 1) throw Error("ranks", "at least 1", std::to_string(world_size), "use 4, say");
  if (world_size > kMostThreadRanks)
    throw Error("ranks", "at most " + std::to_string(kMostThreadRanks) + " threads",
                std::to_string(world_size), "use fewer ranks");
  World world(world_size, std::move(options));
  RanksReport report;
  std::vector<std::unique_ptr<ThreadRank>> comms;
  std::vector<std::shared_ptr<MemoryMeter>> meters;
  for (int rank = 0; rank < world_size; ++rank) {
    comms.push_back(std::make_unique<ThreadRank>(world, rank, world_size));
    meters.push_back(std::make_shared<MemoryMeter>());
  }
  std::vector<std::jthread> threads;
  try {
    for (std::size_t rank = 0; rank < comms.size(); ++rank)
      threads.emplace_back([&, rank] {
        const MeterScope scope(meters[rank]);
        run_rank(world, *comms[rank], body);
      });
  } catch (const std::system_error& error) {
    const Error reason("ranks", "a thread for each of " + std::to_string(world_size), error.what(),
                       "use fewer ranks", Code::kMissing);
    std::unique_lock lock(world.mutex);
    world.board.fail(reason.what());  // a failed board: the ranks that run already do not wait
    world.wake(std::move(lock));
    threads.clear();
    throw reason;
  }
  threads.clear();  // joins
  world.first.rethrow();
  for (int rank = 0; rank < world_size; ++rank) {
    const auto r = static_cast<std::size_t>(rank);
    report.traffic.push_back(comms[r]->traffic());
    report.clock.push_back(world.board.clock(rank));
    report.peak_bytes.push_back(meters[r]->peak());
  }
  return report;
}

}  // namespace ringcraft
