#pragma once
/// @file
/// What is wrong with the running state (O, l, m) of rows in a ring: parts of it are those of other ranks, or
/// it is made of fewer bits than it should be.

#include <optional>

#include "verify/diagnose/match.hpp"

namespace ringcraft::verify {

/// Why out or lse is wrong, where O, l and the maximum of a row are those of several ranks.
std::optional<Cause> cause_of_traded_state(const Evidence& evidence);

/// Why out or lse is wrong by a little, where the running l or O is kept in a type of 16 bits.
std::optional<Cause> cause_of_rounded_sums(const Evidence& evidence);

/// Why out or lse is wrong by a little, where k or v is rounded to a type of few bits.
std::optional<Cause> cause_of_short_blocks(const Evidence& evidence);

/// Why out or lse is wrong, where some blocks meet other queries, another factor of the scores or a soft cap.
std::optional<Cause> cause_of_other_scores(const Evidence& evidence);

/// Why out or lse is wrong, where what fills up shorter blocks counts in some of them.
std::optional<Cause> cause_of_padded_blocks(const Evidence& evidence);

}  // namespace ringcraft::verify
