#pragma once
/// @file
/// The exercises of this lesson: all heads of a batch, forward and backward.

#include "judge/wire/exercise.hpp"
#include "ringcraft/attention/grouped.hpp"

namespace ringcraft::judge {

using GroupedForward = Exercise<&ringcraft::grouped_forward<double>, "grouped_forward">;
using GroupedForwardFloat = Exercise<&ringcraft::grouped_forward<float>, "grouped_forward_float">;
using GroupedBackward = Exercise<&ringcraft::grouped_backward<double>, "grouped_backward">;
using GroupedBackwardFloat = Exercise<&ringcraft::grouped_backward<float>, "grouped_backward_float">;

template <>
struct FloatsOf<GroupedForward> : std::type_identity<GroupedForwardFloat> {};

template <>
struct FloatsOf<GroupedBackward> : std::type_identity<GroupedBackwardFloat> {};

}  // namespace ringcraft::judge
