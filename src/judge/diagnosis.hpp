#pragma once
/// @file
/// Diagnosis: which known misconception a verdict looks like. Fingerprints are compared trait by trait; what
/// resembles no known one closely enough gets no cause at all, for a wrong lead costs more than none.

#include <vector>

#include "judge/misconceptions.hpp"

namespace ringcraft::judge {

/// How alike a verdict and a known misconception are: 1 if all traits agree, 0 or less if nothing does.
double likeness(const Fingerprint& seen, const Fingerprint& known);

/// What a cause needs at least: most failed checks must agree in sign, place and numbers. Measured by
/// `misconceptions --diagnosis`, which leaves out each known file in turn: of the mistakes that the rest of
/// the table does not hold 91 % then get no cause; the others do what a known one does, or nearly.
/// The numbers are those of seed 1; under another seed nothing is alike enough.
inline constexpr double kAlikeEnough = 0.6;

/// At most three causes, the likeliest first; none if no check failed, or none is alike enough.
std::vector<verify::Cause> diagnose(const Fingerprint& seen, const std::vector<Misconception>& known);

/// Puts the causes of a verdict into the row of its first failed check.
void explain(int lesson, Verdict& verdict);

}  // namespace ringcraft::judge
