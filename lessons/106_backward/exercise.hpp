#pragma once
/// @file
/// The exercise of this lesson: the gradients of one head, tile after tile.

#include "judge/wire/exercise.hpp"
#include "ringcraft/attention/blockwise.hpp"

namespace ringcraft::judge {

using BlockwiseBackward = Exercise<&ringcraft::blockwise_backward<double>, "blockwise_backward">;
using BlockwiseBackwardFloat = Exercise<&ringcraft::blockwise_backward<float>, "blockwise_backward_float">;

template <>
struct FloatsOf<BlockwiseBackward> : std::type_identity<BlockwiseBackwardFloat> {};

}  // namespace ringcraft::judge
