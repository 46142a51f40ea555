#pragma once
/// @file
/// The parts of a diagnosis; not for users of the harness.

#include <memory>
#include <optional>

#include "verify/diagnose/diagnose.hpp"
#include "verify/diagnose/match.hpp"

namespace ringcraft::verify {

/// The mistakes whose numbers a claim has, best first, and the ring in which they were found.
struct Found {
  std::vector<Match> matches;
  std::shared_ptr<const TwistedRing> ring;
  std::vector<Suspect> made;  ///< combinations of mistakes; matches may point into it
};

/// Whether a tensor of this group is wrong.
bool any_wrong(const Comparison& comparison, TensorGroup group);

/// Tries every mistake in one arrangement.
Found search(const Evidence& evidence, TensorGroup group, const Answer& saved,
             const Arrangement& arrangement);
/// Mistakes of backward on top of a mistake of forward that backward repeats; it starts from the claimed out
/// and lse.
Found search_after(const Evidence& evidence, const Twist& forward, const Arrangement& arrangement);
/// As search, in other numbers of ranks, other layouts and tiles; nothing if none of them fits wholly.
std::optional<Found> search_elsewhere(const Evidence& evidence, TensorGroup group, const Answer& saved);

/// Two mistakes of forward at once, which together explain all.
Found search_pairs(const Evidence& evidence, const Answer& saved, const Arrangement& arrangement);

/// The same of backward.
Found search_gradient_pairs(const Evidence& evidence, const Answer& saved, const Arrangement& arrangement);

/// If gradients are right but for what they held before, which is lost.
std::optional<Cause> cause_of_lost_start(const Evidence& evidence, const Answer& before);

/// Whether a tensor is zero everywhere.
bool all_zero(const Buffer& tensor);
/// If all wrong rows still hold what was there before the call.
std::optional<Cause> cause_of_unwritten(const Evidence& evidence, TensorGroup group);

/// What the size of the errors, and numbers that are none, say.
std::vector<Cause> causes_by_numbers(const Evidence& evidence, TensorGroup group);

/// The first wrong row: rank, step, tensor, chunk, head, local row. `found` may hold no match.
std::string place_of(const Evidence& evidence, const Found& found);

}  // namespace ringcraft::verify
