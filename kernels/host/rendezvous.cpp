// Waits between the threads of a thread block, and the finding about threads that never meet.
#include <algorithm>
#include <cstring>
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "host/checker/checker.hpp"
#include "host/thread_block.hpp"
#include "host/warp_matrix.hpp"

namespace ringcraft::simt {
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
  if (ended_ > 0) fail(Mistake::kAfterTheEnd);
  const int line = lanes_[0].site.line;
  for (std::size_t i = 1; i < count_; ++i)
    if (lanes_[i].site.line != line || std::strcmp(lanes_[i].site.file, lanes_[0].site.file) != 0)
      fail(Mistake::kDifferentBarriers);
  for (std::size_t i = 0; i < count_; ++i) lanes_[i].state = State::kReady;
  at_barrier_ = 0;
  if (Checker::running != nullptr) Checker::running->sync_block();
}

// The lanes of this one's warp that its mask names, from the one after it on.
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
  if ((mask >> (lane.number % kWarpLanes) & 1) == 0) fail(call(Mistake::kLeftOut, lane, site));
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

// All have arrived: the last one computes the results of all.
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
        fail(call(Mistake::kAbsentLane, lane, last.site));
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
    fail(call(Mistake::kShortWarp, last, last.site));
  const auto all = [&]<class T>(void (*together)(T* const(&)[kWarpLanes])) {
    T* lanes[kWarpLanes];
    for (int i = 0; i < kWarpLanes; ++i) lanes[i] = static_cast<T*>(brought[i]);
    together(lanes);
  };
  last.operation == WarpOperation::kLoadMatrix ? all(load_together) : all(multiply_together);
}

void ThreadBlock::require_aligned(const void* address, std::size_t bytes, const char* what, Site site) const {
  if (reinterpret_cast<std::uintptr_t>(address) % bytes == 0) return;
  Finding finding = call(Mistake::kCrooked, *running_, site);
  finding.name = what;
  finding.bytes = bytes;
  fail(std::move(finding));
}

// ---- Findings

Finding ThreadBlock::call(Mistake mistake, const Lane& lane, Site site) const {
  Finding finding;
  finding.mistake = mistake;
  finding.access.thread = lane.number;
  finding.access.place = code_place(site);
  finding.operation = lane.operation;
  finding.mask = lane.mask;
  finding.lane = lane.source;
  return finding;
}

void ThreadBlock::fail(Mistake mistake) const {
  Finding finding;
  finding.mistake = mistake;
  fail(std::move(finding));
}

void ThreadBlock::fail(Finding finding) const {
  finding.block = block_;
  std::map<std::tuple<State, WarpOperation, unsigned, std::string>, FoundThreads> groups;
  for (std::size_t i = 0; i < count_; ++i) {
    const Lane& lane = lanes_[i];
    FoundThreads one{.state = lane.state};
    if (lane.state == State::kBarrier || lane.state == State::kWarp) one.place = code_place(lane.site);
    if (lane.state == State::kWarp) {
      one.operation = lane.operation;
      one.mask = lane.mask;
    }
    FoundThreads& group =
        groups.try_emplace({one.state, one.operation, one.mask, one.place.line}, one).first->second;
    group.threads.push_back(lane.number);
  }
  for (auto& [key, group] : groups) finding.standing.push_back(std::move(group));
  throw LaunchError(std::move(finding));
}

}  // namespace ringcraft::simt
