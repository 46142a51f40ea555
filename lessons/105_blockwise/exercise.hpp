#pragma once
/// @file
/// The exercise of this lesson: one head, tile after tile.

#include "judge/wire/exercise.hpp"
#include "ringcraft/attention/blockwise.hpp"

namespace ringcraft::judge {

using BlockwiseForward = Exercise<&ringcraft::blockwise_forward<double>, "blockwise_forward">;
using BlockwiseForwardFloat = Exercise<&ringcraft::blockwise_forward<float>, "blockwise_forward_float">;

template <>
struct FloatsOf<BlockwiseForward> : std::type_identity<BlockwiseForwardFloat> {};

}  // namespace ringcraft::judge
