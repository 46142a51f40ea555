// Who waits for whom in a thread block, and the sentence about those who never meet (see thread_block.hpp).
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <map>
#include <string>

#include "host/checker/checker.hpp"
#include "host/thread_block.hpp"
#include "host/warp_matrix.hpp"
#include "ringcraft/core/error.hpp"

namespace ringcraft::simt {
namespace {

// "0 to 31 and 64", of numbers that rise; "0, 2, 4, 6, 8, 10 and 122 more", where they are scattered.
std::string ranges_of(const std::vector<int>& numbers) {
  constexpr int kMostRanges = 6;
  std::string text;
  int ranges = 0;
  for (std::size_t i = 0; i < numbers.size(); ++ranges) {
    std::size_t last = i;
    while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1) ++last;
    if (ranges == kMostRanges && last + 1 < numbers.size())
      return text + " and " + std::to_string(numbers.size() - i) + " more";
    text += (i == 0                       ? ""
             : last + 1 == numbers.size() ? " and "
                                          : ", ") +
            std::to_string(numbers[i]) + (last > i ? " to " + std::to_string(numbers[last]) : "");
    i = last + 1;
  }
  return text;
}

const char* name_of(WarpOperation operation) {
  switch (operation) {
    case WarpOperation::kSync:
      return "__syncwarp";
    case WarpOperation::kShuffle:
      return "a shuffle";
    case WarpOperation::kBallot:
      return "a ballot";
    case WarpOperation::kLoadMatrix:
      return "ldmatrix";
    case WarpOperation::kMultiply:
      return "mma";
  }
  return "?";
}

std::string masked(unsigned mask) {
  char text[16];
  std::snprintf(text, sizeof text, "0x%08x", mask);
  return text;
}

}  // namespace

void ThreadBlock::wait(State state, Site site) {
  Lane& lane = *running_;
  lane.state = state;
  lane.site = site;
  *lane.caller = std::move(*lane.caller).resume();
}

void ThreadBlock::barrier(Site site) {
  Lane& lane = *running_;
  lane.state = State::kBarrier;
  lane.site = site;
  if (++at_barrier_ == count_ - ended_) return leave_barrier();
  wait(State::kBarrier, site);
}

void ThreadBlock::leave_barrier() {
  if (ended_ > 0) fail("a barrier is reached after threads have left the kernel:");
  const int line = lanes_[0].site.line;
  for (std::size_t i = 1; i < count_; ++i)
    if (lanes_[i].site.line != line || std::strcmp(lanes_[i].site.file, lanes_[0].site.file) != 0)
      fail("threads wait at different barriers:");
  for (std::size_t i = 0; i < count_; ++i) lanes_[i].state = State::kReady;
  at_barrier_ = 0;
  if (Checker::running != nullptr) Checker::running->sync_block();
}

// The lanes of this one's warp that its mask names, from the one behind it on.
template <class Action>
void ThreadBlock::for_mask(const Lane& lane, Action action) {
  const int first = lane.number / kWarpLanes * kWarpLanes;
  for (int i = 1; i <= kWarpLanes; ++i) {
    const int place = (lane.number - first + i) % kWarpLanes;
    if ((lane.mask >> place & 1) != 0 && static_cast<std::size_t>(first + place) < count_)
      if (!action(lanes_[static_cast<std::size_t>(first + place)], place)) return;
  }
}

std::uint64_t ThreadBlock::warp(WarpOperation operation, unsigned mask, std::uint64_t value, int source,
                                Site site) {
  Lane& lane = *running_;
  lane.operation = operation;
  lane.mask = mask;
  lane.value = value;
  lane.source = source;
  lane.site = site;
  if ((mask >> (lane.number % kWarpLanes) & 1) == 0)
    fail("thread " + std::to_string(lane.number) + " calls " + name_of(operation) + " at " + described(site) +
         " with the mask " + masked(mask) + ", which leaves it out:");
  bool complete = true;
  for_mask(lane, [&](const Lane& other, int) {
    const bool meets = &other == &lane ||
                       (other.state == State::kWarp && other.operation == operation && other.mask == mask &&
                        (operation == WarpOperation::kSync || other.site.line == site.line));
    return complete = complete && meets;
  });
  if (complete)
    finish(lane);
  else
    wait(State::kWarp, site);
  return lane.result;
}

// All are there: the last to come computes what each of them gets.
void ThreadBlock::finish(const Lane& last) {
  if (last.operation == WarpOperation::kLoadMatrix || last.operation == WarpOperation::kMultiply)
    return finish_matrix(last);
  if (last.operation == WarpOperation::kSync && Checker::running != nullptr)
    Checker::running->sync_warp(last.number / kWarpLanes);
  unsigned ballot = 0;
  for_mask(last, [&](const Lane& lane, int place) {
    ballot |= unsigned{lane.value != 0} << place;
    return true;
  });
  const int first = last.number / kWarpLanes * kWarpLanes;
  for_mask(last, [&](Lane& lane, int) {
    lane.result = ballot;
    if (last.operation == WarpOperation::kShuffle) {
      const auto from = static_cast<std::size_t>(first + lane.source);
      if ((last.mask >> lane.source & 1) == 0 || from >= count_)
        fail("thread " + std::to_string(lane.number) + " wants the value of lane " +
             std::to_string(lane.source) + " in a shuffle at " + described(last.site) +
             ", which takes no part in it:");
      lane.result = lanes_[from].value;
    }
    lane.state = State::kReady;
    return true;
  });
}

void ThreadBlock::finish_matrix(const Lane& last) {
  void* brought[kWarpLanes] = {};
  for_mask(last, [&](Lane& lane, int place) {
    brought[place] = reinterpret_cast<void*>(static_cast<std::uintptr_t>(lane.value));
    lane.state = State::kReady;
    return true;
  });
  if (std::count(std::begin(brought), std::end(brought), nullptr) > 0)
    fail(std::string(name_of(last.operation)) + " at " + described(last.site) +
         " needs a warp of 32 threads, and the last warp of this thread block has fewer:");
  const auto all = [&]<class T>(void (*together)(T* const(&)[kWarpLanes])) {
    T* lanes[kWarpLanes];
    for (int i = 0; i < kWarpLanes; ++i) lanes[i] = static_cast<T*>(brought[i]);
    together(lanes);
  };
  last.operation == WarpOperation::kLoadMatrix ? all(load_together) : all(multiply_together);
}

void ThreadBlock::require_aligned(const void* address, std::size_t bytes, const char* what, Site site) const {
  if (reinterpret_cast<std::uintptr_t>(address) % bytes == 0) return;
  fail("thread " + std::to_string(running_->number) + " gives " + what + " at " + described(site) +
       " an address that is no multiple of " + std::to_string(bytes) + " bytes:");
}

// ---- Sentences

std::string ThreadBlock::where_all_are() const {
  std::map<std::string, std::vector<int>> groups;
  for (std::size_t i = 0; i < count_; ++i) {
    const Lane& lane = lanes_[i];
    std::string where;
    switch (lane.state) {
      case State::kReady:
        where = "at work";
        break;
      case State::kBarrier:
        where = "waiting at __syncthreads (" + described(lane.site) + ")";
        break;
      case State::kWarp:
        where = std::string("waiting for ") + name_of(lane.operation) + " of the lanes " + masked(lane.mask) +
                " (" + described(lane.site) + ")";
        break;
      case State::kEnded:
        where = "out of the kernel";
        break;
    }
    groups[where].push_back(lane.number);
  }
  std::string text;
  for (const auto& [where, numbers] : groups)
    text += (text.empty() ? " " : "; ") + where + (numbers.size() == 1 ? ": thread " : ": threads ") +
            ranges_of(numbers);
  return text;
}

void ThreadBlock::fail(const std::string& what) const {
  throw Error("thread block " + described(block_) + ": " + what + where_all_are(), Code::kWrongAnswer);
}

}  // namespace ringcraft::simt
