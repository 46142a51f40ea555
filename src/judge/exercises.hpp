#pragma once
/// @file
/// The exercises that can be judged. A worker serves all of them; a check calls them by type.

#include "judge/exercise.hpp"
#include "ringcraft/attention/merge.hpp"
#include "ringcraft/problem/deal.hpp"
#include "ringcraft/ring/ring.hpp"
#include "ringcraft/ring/work.hpp"

namespace ringcraft::judge {

using Merge = Exercise<&ringcraft::merge<double>, "merge">;
using RingForward = Exercise<&ringcraft::ring_forward, "ring_forward">;
using RingWorkExercise = Exercise<&ringcraft::ring_work, "ring_work">;
using TokenPosition = Exercise<&ringcraft::token_position, "token_position">;
using TokenOwner = Exercise<&ringcraft::token_owner, "token_owner">;
using NthChunk = Exercise<&ringcraft::nth_chunk, "nth_chunk">;
using ZigzagChunks = Exercise<&ringcraft::zigzag_chunks, "zigzag_chunks">;

/// All of them.
using Exercises = std::tuple<  //
    Merge,                     //
    RingForward,               //
    RingWorkExercise,          //
    TokenPosition,             //
    TokenOwner,                //
    NthChunk,                  //
    ZigzagChunks>;

}  // namespace ringcraft::judge
