#pragma once
/// @file
/// Figures of a schedule of an all-gather, for 501.held: the blocks that a rank holds in each step, the
/// promises that it breaks, and the seconds in which a rank only waits.

#include <algorithm>
#include <vector>

#include "ringcraft/parallel/gather/gather_steps.hpp"

namespace ringcraft::judge {

using GatherSchedule = std::vector<GatherStep>;

/// The first and the last step in which a block comes (the own one: is sent) or is computed, and how often.
struct BlockVisits {
  int came = 0, computed = 0;          ///< times
  int first_came = 0, last_came = -1;  ///< steps
  int first_computed = 0, last_computed = -1;

  BlockVisits(const GatherSchedule& steps, GatheredBlock block) {
    for (int i = 0; i < static_cast<int>(steps.size()); ++i) {
      const auto& [comes, done] = steps[static_cast<std::size_t>(i)];
      const bool sends_own = block.distance == 0 && comes.some() && comes.slice == block.slice;
      if (comes == block || sends_own) {
        first_came = came++ == 0 ? i : first_came;
        last_came = i;
      }
      if (done == block) {
        first_computed = computed++ == 0 ? i : first_computed;
        last_computed = i;
      }
    }
  }
  /// The step from which on a rank holds it; the last one is that which computes it.
  int held_from() const {
    return came == 0 ? first_computed : computed == 0 ? first_came : std::min(first_came, first_computed);
  }
};

/// Blocks that a rank holds in each step, its own included: another rank's from the step in which it comes,
/// the own one from the first that sends or computes it, and each through the step that computes it.
inline std::vector<int> blocks_held(const GatherSchedule& steps, int ranks, int slices) {
  std::vector<int> held(steps.size(), 0);
  for (int slice = 0; slice < slices; ++slice)
    for (int distance = 0; distance < ranks; ++distance) {
      const BlockVisits visits(steps, {slice, distance});
      for (int i = visits.held_from(); i <= std::max(visits.last_came, visits.last_computed); ++i)
        ++held[static_cast<std::size_t>(i)];
    }
  return held;
}

/// The promises of the lesson that a schedule breaks, by their numbers there.
inline std::vector<int> broken_promises(const GatherSchedule& steps, int ranks, int slices) {
  bool once = true, in_order = true, whole = true, hidden = true;
  GatheredBlock last;
  for (int i = 0; i < static_cast<int>(steps.size()); ++i) {
    const auto& [comes, done] = steps[static_cast<std::size_t>(i)];
    once = once && (!comes.some() || (comes.slice < slices && comes.distance > 0 && comes.distance < ranks));
    const bool first = i < ranks - 1;  // these bring slice 0, and nothing is computed
    hidden = hidden && (first ? comes.slice == 0 && !done.some() : done.some());
    if (!done.some()) continue;
    in_order = in_order && std::pair(last.slice, last.distance) < std::pair(done.slice, done.distance);
    last = done;
  }
  for (int slice = 0; slice < slices; ++slice) {
    int begun = static_cast<int>(steps.size()), here = 0;  // steps
    for (int distance = 0; distance < ranks; ++distance) {
      const BlockVisits block(steps, {slice, distance});
      in_order = in_order && block.computed == 1;
      begun = std::min(begun, block.first_computed);
      if (distance == 0) continue;
      once = once && block.came == 1;
      here = std::max(here, block.came > 0 ? block.first_came : static_cast<int>(steps.size()));
    }
    whole = whole && (ranks == 1 || here < begun);
  }
  const std::vector<int> held = blocks_held(steps, ranks, slices);
  const bool few =
      std::ranges::all_of(held, [&](int blocks) { return blocks <= ranks + (slices > 1 ? 1 : 0); });
  std::vector<int> broken;
  for (int promise = 1; const bool kept : {once, in_order, whole, hidden, few}) {
    if (!kept) broken.push_back(promise);
    ++promise;
  }
  return broken;
}

/// Seconds of one rank, if all are alike: those of the whole schedule, and those in which it only waits.
struct GatherSeconds {
  double all = 0, exposed = 0;
};

/// Every step takes as long as the longer one of its exchange and its computation.
inline GatherSeconds gather_seconds(const GatherSchedule& steps, double exchange, double compute) {
  GatherSeconds seconds;
  for (const auto& [comes, done] : steps) {
    const double busy = done.some() ? compute : 0, link = comes.some() ? exchange : 0;
    seconds.all += std::max(busy, link);
    seconds.exposed += std::max(0.0, link - busy);
  }
  return seconds;
}

}  // namespace ringcraft::judge
