#pragma once
/// @file
/// What is wrong with the running state (O, l, m) of rows in a ring, though each block's part of it is right.

#include <optional>

#include "verify/diagnose/match.hpp"

namespace ringcraft::verify {

/// Why out or lse is wrong, where O, l and the maximum of a row are those of several ranks.
std::optional<Cause> cause_of_traded_state(const Evidence& evidence);

/// Why out or lse is wrong by a little, where the running l or O is kept in a type of 16 bits.
std::optional<Cause> cause_of_rounded_sums(const Evidence& evidence);

}  // namespace ringcraft::verify
