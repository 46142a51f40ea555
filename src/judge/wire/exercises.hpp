#pragma once
/// @file
/// The exercises that checks of many lessons call. Those of a single lesson lie in its folder, in
/// exercise.hpp. A worker serves the exercises that its lesson declares; a check calls exercises by type.

#include "judge/wire/exercise.hpp"
#include "ringcraft/attention/dense.hpp"
#include "ringcraft/ring/ring.hpp"

namespace ringcraft::judge {

using DenseForward = Exercise<&ringcraft::dense_forward<double>, "dense_forward">;
using DenseForwardFloat = Exercise<&ringcraft::dense_forward<float>, "dense_forward_float">;
template <>
struct FloatsOf<DenseForward> : std::type_identity<DenseForwardFloat> {};
using RingForward = Exercise<&ringcraft::ring_forward, "ring_forward">;
using RingBackward = Exercise<&ringcraft::ring_backward, "ring_backward">;

}  // namespace ringcraft::judge
