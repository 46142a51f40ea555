#pragma once
/// @file
/// The exercise of this lesson: a safe softmax of one row.

#include "judge/wire/exercise.hpp"
#include "ringcraft/attention/softmax.hpp"

namespace ringcraft::judge {

using SafeSoftmax = Exercise<&ringcraft::safe_softmax<double>, "safe_softmax">;

}  // namespace ringcraft::judge
