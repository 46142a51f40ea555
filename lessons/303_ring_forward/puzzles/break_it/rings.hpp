#pragma once
/// @file
/// The rings of 303.break_it: five that are wrong, and the right one. They share one loop and differ in one
/// habit each. They are not students' code and run in the judge's own process, on thread ranks.

#include <string>
#include <string_view>
#include <vector>

#include "ringcraft/ring/ring.hpp"
#include "verify/oracle/cases.hpp"

namespace ringcraft::judge {

/// Faults that one ring may have. The defaults are right.
struct Habit {
  /// How many exchanges the ring makes.
  int (*exchanges)(const Problem&) = hops;
  /// The rank whose block this rank assumes to hold at step t: it decides which keys its queries see.
  int (*label)(int rank, int t, int n) = [](int rank, int t, int n) { return (rank - t + n) % n; };
  /// How many rows of a block are visible at all.
  Index (*rows)(const Problem&, int source) = [](const Problem& p, int source) {
    return p.sharding().rows(source);
  };
  /// Whether the rank leaves out this step altogether.
  bool (*leaves_out)(const Problem&, int rank, int source) = [](const Problem&, int, int) { return false; };
  /// Whether every query head gets its own KV head before the first step: head h that of h mod kv_heads.
  bool repeats_heads = false;
};

/// One of the rings that a case has to tell from the right one.
struct WrongRing {
  std::string name;  ///< "A"
  std::string does;  ///< "takes the block that it holds at step t for that of rank r + t"
  std::string hint;  ///< the cases that it survives
  Habit habit;
  Index smallest;  ///< ranks x tokens x heads of the smallest case that tells it from the right ring
};

/// A to E.
const std::vector<WrongRing>& wrong_rings();
/// The smallest case that tells each of them from the right ring.
inline constexpr Index kSmallestForAll = 48;

/// ranks x tokens x heads.
Index size_of(const verify::Case& c);

/// The fault of this ring's answer to a case, in one sentence; empty if every element agrees with the oracle.
std::string flaw_of(const Habit& habit, const verify::Case& c);

}  // namespace ringcraft::judge
