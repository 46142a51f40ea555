#pragma once
/// @file
/// The exercises of this lesson: one chunk of a sequence, and a rank's pair.

#include "judge/wire/exercise.hpp"
#include "ringcraft/problem/deal.hpp"

namespace ringcraft::judge {

using NthChunk = Exercise<&ringcraft::nth_chunk, "nth_chunk">;
using ZigzagChunks = Exercise<&ringcraft::zigzag_chunks, "zigzag_chunks">;

}  // namespace ringcraft::judge
