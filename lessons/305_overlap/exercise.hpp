#pragma once
/// @file
/// The exercise of this lesson: the clocks of a ring.

#include "judge/wire/exercise.hpp"
#include "ringcraft/ring/clocks.hpp"

namespace ringcraft::judge {

using RingClocksExercise = Exercise<&ringcraft::ring_clocks, "ring_clocks">;

}  // namespace ringcraft::judge
