#pragma once
/// @file
/// Parts of the diagnosis of what travels; not for users of the harness.

#include <optional>

#include "verify/diagnose/diagnose.hpp"

namespace ringcraft::verify {

/// A rank, counted around the ring.
inline int on_the_ring(int rank, int n) { return (rank % n + n) % n; }

/// Why a call of several ranks did not come to an end, by the messages that each had started.
std::optional<Cause> cause_of_stuck(const TravelExhibit& exhibit);

/// Why other bytes travel in a backward pass: how many hops its blocks and sums make, and what else goes
/// along.
std::optional<Cause> cause_of_luggage(const TravelExhibit& exhibit);

}  // namespace ringcraft::verify
