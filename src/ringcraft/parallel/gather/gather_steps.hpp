#pragma once
/// @file
/// The schedule of an all-gather of keys and values: when each block comes, and when it is computed. The KV
/// heads are cut into slices that are gathered one after the other, so that memory stays bounded (Llama 3);
/// the next slice comes while this one is computed. With one slice everything comes first.

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

/// An exchange and a computation at the same time. In an exchange at distance d rank r sends its own block to rank r + d and
/// gets that of rank r - d: one message out and one in, so that no link is shared.
struct GatherStep {
  GatheredBlock exchanged;  ///< distance 1 to N - 1
  GatheredBlock computed;   ///< here since an earlier step, or the own one

  static auto fields(auto& self) { return std::tie(self.exchanged, self.computed); }
  friend bool operator==(const GatherStep&, const GatherStep&) = default;
};

/// The steps of a gather of `slices` slices over `world_size` ranks, the same on every rank: N - 1 exchanges
/// of the first slice that nothing hides, then a block per step, each of which hides an exchange of the next
/// slice. Every block is exchanged once, and computed once; a rank that frees what it has computed never
/// holds more than N + 1 blocks, its own included. (Lesson 501.)
std::vector<GatherStep> gather_steps(int world_size, int slices);

}  // namespace ringcraft
