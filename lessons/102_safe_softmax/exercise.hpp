#pragma once
/// @file
/// The exercise of this lesson: a safe softmax of one row.

#include "judge/wire/exercise.hpp"
#include "ringcraft/attention/softmax.hpp"

namespace ringcraft::judge {

using SafeSoftmax = Exercise<&ringcraft::safe_softmax<double>, "safe_softmax">;
using SafeSoftmaxFloat = Exercise<&ringcraft::safe_softmax<float>, "safe_softmax_float">;

template <>
struct FloatsOf<SafeSoftmax> : std::type_identity<SafeSoftmaxFloat> {};

}  // namespace ringcraft::judge
