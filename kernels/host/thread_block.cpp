// The fibers of one thread block.
#include "host/thread_block.hpp"

#include <alloca.h>

#include <algorithm>
#include <boost/context/protected_fixedsize_stack.hpp>
#include <numeric>
#include <random>

#include "host/checker/checker.hpp"

namespace ringcraft::simt {

ThreadBlock& ThreadBlock::current() {
  thread_local ThreadBlock block;
  return block;
}

// ---- The life of a block

void ThreadBlock::run(const Grid& grid, const Triple& block, const std::function<void()>& thread) {
  thread_ = &thread;
  begin(grid, block);
  try {
    while (ended_ < count_) {
      bool moved = false;
      for (const std::size_t turn : turns_)
        if (lanes_[turn].state == State::kReady) {
          moved = true;
          resume(lanes_[turn]);
        }
      if (!moved) fail(Mistake::kStuck);
    }
  } catch (...) {
    lanes_.clear();  // unwinds those that wait
    if (Checker::running != nullptr)
      Checker::running->end_block();  // a finding comes before its consequences
    throw;
  }
  if (Checker::running != nullptr) Checker::running->end_block();
}

void ThreadBlock::begin(const Grid& grid, const Triple& block) {
  count_ = grid.threads.count();
  if (lanes_.size() < count_) make_lanes(count_);
  block_ = block;
  ended_ = at_barrier_ = 0;
  thrown_ = nullptr;
  shared_.resize(grid.shared_bytes + 2 * kRedZone);
  std::fill_n(shared(), grid.shared_bytes, std::byte{0xFF});
  if (Checker::running != nullptr) Checker::running->begin_block(block, shared(), grid.shared_bytes);
  Triple index{0, 0, 0};
  for (std::size_t i = 0; i < count_; ++i) {
    lanes_[i].thread = {index, block, grid.threads, grid.blocks};
    lanes_[i].state = State::kReady;
    lanes_[i].copies.clear();
    if (++index.x == grid.threads.x) index = {0, index.y + 1, index.z};
    if (index.y == grid.threads.y) index = {0, 0, index.z + 1};
  }
  turns_.resize(count_);
  std::iota(turns_.begin(), turns_.end(), std::size_t{0});
  if (settings().seed == 0) return;
  std::mt19937_64 random(settings().seed + block.x * 0x9E3779B97F4A7C15u + block.y * 0xBF58476D1CE4E5B9u +
                         block.z * 0x94D049BB133111EBu);
  std::shuffle(turns_.begin(), turns_.end(), random);
}

void ThreadBlock::make_lanes(std::size_t count) {
  lanes_.clear();
  lanes_.resize(count);
  for (std::size_t i = 0; i < count; ++i) {
    Lane& lane = lanes_[i];
    lane.number = static_cast<int>(i);
    lane.fiber = boost::context::fiber(
        std::allocator_arg, boost::context::protected_fixedsize_stack(kStackBytes),
        [this, &lane](boost::context::fiber&& caller) {
          // Stacks begin at the same place of their pages, and would meet in the same lines of the cache.
          static_cast<volatile char*>(alloca(256 * (static_cast<std::size_t>(lane.number) % 16) + 1))[0] = 0;
          lane.caller = &caller;
          lane.stack_end = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
          for (;;) live(lane);
          return std::move(caller);
        });
  }
}

int ThreadBlock::owner_of_stack(std::uintptr_t address) const {
  for (std::size_t i = 0; i < count_; ++i)
    if (lanes_[i].stack_end != 0 && lanes_[i].stack_end - address <= kStackBytes) return lanes_[i].number;
  return -1;
}

void ThreadBlock::resume(Lane& lane) {
  running_ = &lane;
  if (Checker::running != nullptr) Checker::running->resume(lane.number, lane.stack_end);
  lane.fiber = std::move(lane.fiber).resume();
  if (lane.abandoned) new boost::context::fiber(std::move(lane.fiber));  // forever: it must not be unwound
  if (thrown_) std::rethrow_exception(thrown_);
}

void ThreadBlock::abandon() {
  try {
    fail(Mistake::kAbandoned);
  } catch (...) {
    thrown_ = std::current_exception();
  }
  Lane& lane = *running_;
  lane.abandoned = true;
  *lane.caller = std::move(*lane.caller).resume();
}

void ThreadBlock::live(Lane& lane) {
  try {
    (*thread_)();
    end(lane);
  } catch (const boost::context::detail::forced_unwind&) {
    throw;  // how boost ends a fiber
  } catch (...) {
    thrown_ = std::current_exception();
  }
  *lane.caller = std::move(*lane.caller).resume();
}

void ThreadBlock::end(Lane& lane) {
  lane.state = State::kEnded;
  ++ended_;
  if (at_barrier_ > 0 && at_barrier_ == count_ - ended_) leave_barrier();
}

}  // namespace ringcraft::simt
