#pragma once
/// @file
/// Mistakes of the running state (O, l, m) of rows in a ring: parts of it belong to other ranks, or count
/// other scores.

#include <optional>

#include "verify/diagnose/match.hpp"

namespace ringcraft::verify {

/// Why out or lse is wrong, if O, l and the maximum of a row belong to different ranks.
std::optional<Cause> cause_of_traded_state(const Evidence& evidence);

/// Why out or lse is wrong, if some blocks meet other queries, another factor of the scores or a soft cap.
std::optional<Cause> cause_of_other_scores(const Evidence& evidence);

/// Why out or lse is wrong, if the padding of shorter blocks counts in some of them.
std::optional<Cause> cause_of_padded_blocks(const Evidence& evidence);

}  // namespace ringcraft::verify
