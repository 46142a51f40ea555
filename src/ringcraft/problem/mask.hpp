#pragma once
/// @file
/// Mask: which keys a query may see, by global position. Every mask of the course shows a query one interval
/// of keys, and neither end of the interval ever moves left as the query moves right; that one property is
/// what key_ranges.hpp builds on.

#include <limits>
#include <string>
#include <tuple>
#include <vector>

#include "ringcraft/core/types.hpp"

namespace ringcraft {

/// A token's place in the whole sequence, counted from 0.
using Position = Index;

/// No limit on this side of a mask.
inline constexpr Position kNoLimit = std::numeric_limits<Position>::max();

/// Query p sees the keys [p - left, p + right] of its own sequence. Full attention: no limits. Causal: right
/// = 0. Sliding window W: left = W and right = 0, so W + 1 keys with the query's own. Packed sequences:
/// cu_seqlens holds the borders [0, ..., seqlen] of the sequences laid end to end, the same for every batch
/// entry; empty means one.
struct Mask {
  Position left = kNoLimit;          ///< keys before the query that it sees
  Position right = kNoLimit;         ///< keys after the query that it sees
  std::vector<Position> cu_seqlens;  ///< borders of packed sequences

  static auto fields(auto& self) { return std::tie(self.left, self.right, self.cu_seqlens); }
  friend bool operator==(const Mask&, const Mask&) = default;
};

/// Each query sees every key.
inline Mask full_mask() { return {}; }
/// Each query sees itself and what came before.
inline Mask causal_mask() { return {.right = 0}; }
/// Each query sees itself and the `window` keys before it.
inline Mask window_mask(Position window) { return {.left = window, .right = 0}; }

/// A few words for tables and messages: "full", "causal", "window 5, 3 sequences".
std::string described(const Mask& mask);

/// The keys [lo, hi) that one query sees, as global positions.
struct KeyInterval {
  Position lo;  ///< the first key
  Position hi;  ///< one past the last

  static auto fields(auto& self) { return std::tie(self.lo, self.hi); }
  friend bool operator==(const KeyInterval&, const KeyInterval&) = default;
};

/// Answers "which keys does position p see?" for increasing p in constant time on average.
class MaskCursor {
 public:
  /// The mask must outlive the cursor. seqlen is the number of tokens of the whole sequence.
  MaskCursor(const Mask& mask, Position seqlen) : mask_(mask), seqlen_(seqlen) {}

  /// lo = max(start of p's sequence, p - left), hi = min(end of p's sequence, p + right + 1); p must not
  /// decrease from call to call. (Lesson 405; the body is in key_ranges.cpp.)
  KeyInterval at(Position p);

 private:
  const Mask& mask_;
  Position seqlen_;
  std::size_t sequence_ = 0;  // index into cu_seqlens of the sequence that holds the last p
};

}  // namespace ringcraft
