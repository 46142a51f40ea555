#pragma once
/// @file
/// The mistakes that a diagnosis knows: each has an id, a sentence, a question that leads on, and a Twist
/// whose numbers give it away. Those that people make more often come first.

#include <vector>

#include "verify/diagnose/twisted/twist.hpp"
#include "verify/oracle/oracle.hpp"
#include "verify/report/report.hpp"

namespace ringcraft::verify {

/// A mistake with the numbers that it gives.
struct Suspect {
  Cause cause;  ///< what a person reads
  Twist twist;  ///< what a TwistedRing computes
};

/// Mistakes that show in out or lse.
const std::vector<Suspect>& forward_suspects();
/// Mistakes of a backward pass that starts from right out and lse: they show in dq, dk or dv.
const std::vector<Suspect>& backward_suspects();

/// Masks of other laws for this problem and ring, to be asked where no other mistake explains all.
std::vector<Suspect> pair_law_suspects(const BlockProblem& problem, const Problem& ring);

/// The suspect with this id. Throws Error if there is none.
const Suspect& suspect_named(const std::string& id);

}  // namespace ringcraft::verify
