#pragma once
/// @file
/// Mistakes of the running state (O, l, m) of rows in a ring: parts of it belong to other ranks, it has fewer
/// bits than it should, or merging costs them.

#include <optional>

#include "verify/diagnose/match.hpp"

namespace ringcraft::verify {

/// Why out or lse is wrong, if O, l and the maximum of a row belong to different ranks.
std::optional<Cause> cause_of_traded_state(const Evidence& evidence);

/// Why out or lse is slightly wrong, if the running l or O has a 16-bit type.
std::optional<Cause> cause_of_rounded_sums(const Evidence& evidence);

/// Why out or lse is slightly wrong, if k or v is rounded to a type of few bits.
std::optional<Cause> cause_of_short_blocks(const Evidence& evidence);

/// Why out or lse is wrong, if some blocks meet other queries, another factor of the scores or a soft cap.
std::optional<Cause> cause_of_other_scores(const Evidence& evidence);

/// Why out or lse is wrong, if the padding of shorter blocks counts in some of them.
std::optional<Cause> cause_of_padded_blocks(const Evidence& evidence);

/// Why elements of out have lost their digits, if blocks are merged by a difference of two outputs.
std::optional<Cause> cause_of_cancelled_out(const Evidence& evidence);

/// Why rows of dk and dv have lost their digits, if gradients go through merges with a weight of the form 1 -
/// w.
std::optional<Cause> cause_of_cancelled_weights(const Evidence& evidence);

}  // namespace ringcraft::verify
