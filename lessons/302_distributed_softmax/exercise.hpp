#pragma once
/// @file
/// The exercise of this lesson: the softmax of rows that lie on many ranks.

#include "judge/wire/exercise.hpp"
#include "ringcraft/ring/distributed_softmax.hpp"

namespace ringcraft::judge {

using DistributedSoftmax = Exercise<&ringcraft::distributed_softmax<double>, "distributed_softmax">;
using DistributedSoftmaxFloat = Exercise<&ringcraft::distributed_softmax<float>, "distributed_softmax_float">;

template <>
struct FloatsOf<DistributedSoftmax> : std::type_identity<DistributedSoftmaxFloat> {};

}  // namespace ringcraft::judge
