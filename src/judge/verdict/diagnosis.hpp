#pragma once
/// @file
/// Diagnosis: which known misconception a verdict looks like. Fingerprints are compared trait by trait; what
/// resembles no known one closely enough, and holds none as a part, gets no cause at all: a wrong lead costs
/// more than none.

#include <vector>

#include "judge/verdict/misconceptions.hpp"

namespace ringcraft::judge {

/// How alike a verdict and a known misconception are: 1 if all traits agree, 0 or less if nothing does.
double likeness(const Fingerprint& seen, const Fingerprint& known);

/// What a cause needs at least: most failed checks must agree in sign, place and numbers. Measured by
/// `misconceptions --diagnosis`, which leaves out each known file in turn: of the mistakes that the rest of
/// the table does not hold 90 % then get no cause; the others do what a known one does, or nearly.
/// The numbers are those of seed 1; under another seed nothing is alike enough.
inline constexpr double kAlikeEnough = 0.6;

/// At most three causes, the likeliest first; none if no check failed, or none is alike enough. Where a
/// mistake was made in several ways and nothing tells them apart, each of these is a cause.
std::vector<verify::Cause> diagnose(const Fingerprint& seen, const std::vector<Misconception>& known);

/// One of several mistakes in one file, and the first check that it fails.
struct Part {
  std::string check;  ///< "continues", without the lesson's number
  verify::Cause cause;
};

/// The known mistakes that a verdict holds beside others: every check that such a one fails has failed here
/// in just the same way, with the same numbers. One check alone says so little that it counts only where such
/// mistakes together leave no failed check unexplained. A first version often has two: the one that the
/// lesson is about, and no thought yet for a row without a key.
std::vector<Part> parts_of(const Fingerprint& seen, const std::vector<Misconception>& known);

/// Puts the causes of a verdict into the row of its first failed check; if it is like no known mistake, those
/// of its parts, each into the row of the first check that it fails. `seen` is what the file looks like with
/// the seed of the tables.
void explain(int lesson, Verdict& verdict, const Fingerprint& seen);

}  // namespace ringcraft::judge
