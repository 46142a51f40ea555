#pragma once
/// @file
/// The exercises that can be judged. A worker serves all of them; a check calls them by type.

#include "judge/exercise.hpp"
#include "ringcraft/attention/merge.hpp"
#include "ringcraft/ring/ring.hpp"

namespace ringcraft::judge {

using Merge = Exercise<&ringcraft::merge<double>>;
using RingForward = Exercise<&ringcraft::ring_forward>;

/// The name under which an exercise is asked for over the wire.
template <class E>
inline constexpr const char* kNameOf = nullptr;
template <>
inline constexpr const char* kNameOf<Merge> = "merge";
template <>
inline constexpr const char* kNameOf<RingForward> = "ring_forward";

}  // namespace ringcraft::judge
