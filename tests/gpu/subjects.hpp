#pragma once
/// @file
/// Three ways in which a CudaEngine answers the cases of the harness: forward, and with gradients where the
/// inputs have dout.

#include "engine/cuda_engine.hpp"
#include "ringcraft/problem/key_ranges.hpp"
#include "ringcraft/ring/ring.hpp"
#include "verify/oracle.hpp"
#include "verify/tensors.hpp"

namespace ringcraft::kernels {

/// The library's ring on world_size thread ranks, each with a CudaEngine and a stream of its own. The
/// schedule is that of the backward pass.
verify::Answer ring_answer(CudaRungs rungs, const Problem& problem, const verify::Inputs& inputs,
                           Schedule schedule);

/// One engine, which takes the place of each rank in turn and hands itself the KV blocks in the order of the
/// ring. All blocks of a rank are enqueued without waiting in between.
verify::Answer block_by_block_answer(CudaRungs rungs, const Problem& problem, const verify::Inputs& inputs);

/// One shard against one KV block.
verify::Answer one_block_answer(CudaRungs rungs, const verify::BlockProblem& problem, const KeyRanges& ranges,
                                const verify::Inputs& inputs);

}  // namespace ringcraft::kernels
