#pragma once
/// @file
/// Parts of the diagnosis of traffic; internal to the harness.

#include <optional>

#include "verify/diagnose/diagnose.hpp"

namespace ringcraft::verify {

/// A rank, counted around the ring.
inline int on_the_ring(int rank, int n) { return (rank % n + n) % n; }

/// Why a call of several ranks did not finish, by the messages that each had started.
std::optional<Cause> cause_of_stuck(const TravelExhibit& exhibit);

/// Why the traffic of a backward pass is wrong: the number of hops of its blocks and sums, and any additional
/// data.
std::optional<Cause> cause_of_luggage(const TravelExhibit& exhibit);

}  // namespace ringcraft::verify
