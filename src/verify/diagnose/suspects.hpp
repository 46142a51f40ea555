#pragma once
/// @file
/// The known mistakes: each has an id, a sentence, a question that helps without giving the solution, and a
/// Twist that computes its numbers. Common mistakes come first.

#include <vector>

#include "verify/diagnose/twisted/twist.hpp"
#include "verify/oracle/oracle.hpp"
#include "verify/report/report.hpp"

namespace ringcraft::verify {

/// A mistake, and the twist that computes its numbers.
struct Suspect {
  Cause cause;                    ///< for the reader
  Twist twist;                    ///< for a TwistedRing
  std::vector<Cause> apart = {};  ///< of two mistakes at once: one cause for each
  bool example = false;           ///< the twist has one of many numbers: others are solved for in each claim
};
/// The question of a mistake that exchanges the halves of a shard, in forward or backward.
inline constexpr auto kHalvesQuestion =
    "In which order do the two parts of a shard lie in memory, and in which are they joined?";

/// Two mistakes at once, computed by `twist`.
Suspect pair_of(const Suspect& a, const Suspect& b, const Twist& twist);

/// Mistakes visible in out or lse.
const std::vector<Suspect>& forward_suspects();
/// Mistakes of a backward pass that starts from right out and lse: visible in dq, dk or dv.
const std::vector<Suspect>& backward_suspects();

/// Masks by other laws for this problem and ring, to try if no other mistake explains everything.
std::vector<Suspect> pair_law_suspects(const BlockProblem& problem, const Problem& ring);

/// The suspect with this id. Throws Error if there is none.
const Suspect& suspect_named(const std::string& id);

}  // namespace ringcraft::verify
