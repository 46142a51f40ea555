#pragma once
/// @file
/// The exercise of this lesson: the ledger of a ring's work.

#include "judge/wire/exercise.hpp"
#include "ringcraft/ring/work.hpp"

namespace ringcraft::judge {

using RingWorkExercise = Exercise<&ringcraft::ring_work, "ring_work">;

}  // namespace ringcraft::judge
