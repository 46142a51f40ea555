#pragma once
/// @file
/// The exercises that can be judged. A worker serves all of them; a check calls them by type.

#include "judge/exercise.hpp"
#include "ringcraft/attention/blockwise.hpp"
#include "ringcraft/attention/grouped.hpp"
#include "ringcraft/attention/merge.hpp"
#include "ringcraft/ring/ring.hpp"

namespace ringcraft::judge {

using Merge = Exercise<&ringcraft::merge<double>, "merge">;
using BlockwiseForward = Exercise<&ringcraft::blockwise_forward<double>, "blockwise_forward">;
using BlockwiseBackward = Exercise<&ringcraft::blockwise_backward<double>, "blockwise_backward">;
using GroupedForward = Exercise<&ringcraft::grouped_forward<double>, "grouped_forward">;
using GroupedBackward = Exercise<&ringcraft::grouped_backward<double>, "grouped_backward">;
using RingForward = Exercise<&ringcraft::ring_forward, "ring_forward">;

/// All of them.
using Exercises = std::tuple<  //
    Merge,                     //
    BlockwiseForward,          //
    BlockwiseBackward,         //
    GroupedForward,            //
    GroupedBackward,           //
    RingForward>;

}  // namespace ringcraft::judge
