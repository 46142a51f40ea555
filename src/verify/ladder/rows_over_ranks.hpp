#pragma once
/// @file
/// Attention whose rows of scores are split over N ranks, as a method (forward only): the stage of the ladder
/// between one device and the ring. Keys and values stay in place and the queries travel, some rows of one
/// head at a time: a distributed softmax (lesson 302) gives every rank the weights of its own keys, and the
/// ranks' shares of out return to the rank of the queries, which adds them up.

#include "ringcraft/parallel/method.hpp"

namespace ringcraft::verify {

/// Rows of one head that travel together.
inline constexpr Index kRowsAtOnce = 64;

/// For float32 and float64 in host memory.
extern const Method kRowsOverRanks;

}  // namespace ringcraft::verify
