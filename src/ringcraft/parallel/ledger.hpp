#pragma once
/// @file
/// Ledger: live and peak bytes of a pass that is gone through on paper. The theories of methods whose memory
/// rises and falls along a schedule (parallel/gather, hybrid, double_ring) are counted with it.

#include <algorithm>

#include "ringcraft/engine/theory.hpp"

namespace ringcraft {

/// Counts the bytes that a rank would hold.
class Ledger {
 public:
  /// Bytes of one number of each role.
  explicit Ledger(RoleBytes bytes) : bytes_(bytes) {}

  /// A buffer of this many elements of a role is made; a negative number frees one.
  void hold(Role role, Index elements) {
    live_ += elements * static_cast<Index>(role == Role::kElement ? bytes_.element : bytes_.accumulator);
    peak_ = std::max(peak_, live_);
  }
  /// It is freed.
  void drop(Role role, Index elements) { hold(role, -elements); }
  /// For a moment so many bytes are held at the most, all that was held included.
  void reach(Index bytes) { peak_ = std::max(peak_, bytes); }
  /// The most bytes held at one time.
  Index peak() const { return peak_; }

 private:
  RoleBytes bytes_;
  Index live_ = 0, peak_ = 0;
};

}  // namespace ringcraft
