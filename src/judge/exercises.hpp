#pragma once
/// @file
/// The exercises that can be judged. A worker serves all of them; a check calls them by type.

#include "judge/exercise.hpp"
#include "ringcraft/attention/merge.hpp"
#include "ringcraft/ring/ring.hpp"

namespace ringcraft::judge {

using Merge = Exercise<&ringcraft::merge<double>, "merge">;
using RingForward = Exercise<&ringcraft::ring_forward, "ring_forward">;

/// All of them.
using Exercises = std::tuple<  //
    Merge,                     //
    RingForward>;

}  // namespace ringcraft::judge
