#pragma once
/// @file
/// Attention whose rows of scores lie on N ranks, forward only: the stage of the ladder between one device
/// and the ring. Every rank holds all queries, and its own shard of keys and values. A distributed softmax
/// gives it the weights of its own keys; the ranks' shares of out are added up.

#include "verify/ladder/subject.hpp"

namespace ringcraft::verify {

/// Rows of one head that travel together.
inline constexpr Index kRowsAtOnce = 64;

/// out and lse of the whole problem on problem.world_size thread ranks, for float32 or float64 inputs. Every
/// rank ends with the whole answer; that of rank 0 is returned. Throws Error for bfloat16.
Answer run_rows_over_ranks(const Problem& problem, const Inputs& inputs, Measurement* measurement = nullptr);

}  // namespace ringcraft::verify
