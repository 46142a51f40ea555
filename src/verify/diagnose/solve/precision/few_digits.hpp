#pragma once
/// @file
/// Results that are slightly wrong because a number on their way had too few digits: the scores, the blocks
/// that travel, the running state, or a difference in which they were lost.

#include <optional>

#include "verify/diagnose/match.hpp"

namespace ringcraft::verify {

/// Why lse (and, in float32, out) is slightly wrong, if it is that of scores rounded to a 16-bit type.
std::optional<Cause> cause_of_rounded_scores(const Evidence& evidence);

/// Why out or lse is slightly wrong, if the state between two steps is rounded to a 16-bit type.
std::optional<Cause> cause_of_rounded_state(const Evidence& evidence);

/// Why out or lse is slightly wrong, if the running l or O has a 16-bit type.
std::optional<Cause> cause_of_rounded_sums(const Evidence& evidence);

/// Why out or lse is slightly wrong, if k or v is rounded to a type of few bits.
std::optional<Cause> cause_of_short_blocks(const Evidence& evidence);

/// Why gradients are slightly wrong, if P is computed from an lse that was rounded to a 16-bit type.
std::optional<Cause> cause_of_rounded_lse(const Evidence& evidence);

/// Why elements of out have lost their digits, if blocks are merged by a difference of two outputs.
std::optional<Cause> cause_of_cancelled_out(const Evidence& evidence);

/// Why rows of dk and dv have lost their digits, if gradients go through merges with a weight of the form 1 -
/// w.
std::optional<Cause> cause_of_cancelled_weights(const Evidence& evidence);

}  // namespace ringcraft::verify
