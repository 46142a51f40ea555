#pragma once
/// @file
/// The schedule of an all-gather of keys and values: when each block comes, and when it is computed. The KV
/// heads are cut into slices that are gathered one after the other, so that memory stays bounded; the next
/// slice comes while this one is computed. With one slice everything comes first.

#include <tuple>
#include <vector>

namespace ringcraft {

/// A block of a slice, seen from rank r: that of rank (r - distance) mod N.
struct GatheredBlock {
  int slice = -1;    ///< counted from 0; -1: none
  int distance = 0;  ///< 0 to N - 1

  /// Whether there is one.
  bool some() const { return slice >= 0; }
  static auto fields(auto& self) { return std::tie(self.slice, self.distance); }
  friend bool operator==(const GatheredBlock&, const GatheredBlock&) = default;
};

/// An exchange and a computation at the same time. In an exchange at distance d rank r sends its own block to
/// rank r + d and gets that of rank r - d: one message out and one in, so that no link is shared.
struct GatherStep {
  GatheredBlock exchanged;  ///< distance 1 to N - 1
  GatheredBlock computed;   ///< here since an earlier step, or the own one

  static auto fields(auto& self) { return std::tie(self.exchanged, self.computed); }
  friend bool operator==(const GatherStep&, const GatherStep&) = default;
};

/// The steps of a gather of `slices` slices over `world_size` ranks, both at least 1; the same on every rank.
/// First N - 1 steps that exchange and compute nothing bring the first slice. Then each step computes a block,
/// slice by slice and in a slice from distance 0 to N - 1, while the next slice comes: N - 1 + slices * N
/// steps in all. Each block at a distance of 1 or more comes once, and before any block of its slice is
/// computed; the order of distances in which a slice comes is free. At most N + 1 blocks are held in a step:
/// another rank's from the step in which it comes, the own one from the first step that sends or computes
/// it, and each through the step that computes it. (Lesson 501.)
std::vector<GatherStep> gather_steps(int world_size, int slices);

}  // namespace ringcraft
