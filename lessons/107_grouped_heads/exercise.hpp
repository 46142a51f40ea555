#pragma once
/// @file
/// The exercises of this lesson: all heads of a batch, forward and backward.

#include "judge/wire/exercise.hpp"
#include "ringcraft/attention/grouped.hpp"

namespace ringcraft::judge {

using GroupedForward = Exercise<&ringcraft::grouped_forward<double>, "grouped_forward">;
using GroupedBackward = Exercise<&ringcraft::grouped_backward<double>, "grouped_backward">;

}  // namespace ringcraft::judge
