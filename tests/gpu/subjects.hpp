#pragma once
/// @file
/// Four ways in which a CudaEngine answers the cases of the harness: forward, and with gradients where the
/// inputs have dout.

#include <cstdint>
#include <functional>
#include <memory>

#include "engine/cuda_engine.hpp"
#include "ringcraft/comm/switchboard.hpp"
#include "ringcraft/parallel/method.hpp"
#include "ringcraft/problem/key_ranges.hpp"
#include "verify/oracle/oracle.hpp"
#include "verify/oracle/tensors.hpp"

namespace ringcraft::kernels {

/// Makes a rank's device communicator from its host one.
using Connect = std::function<std::unique_ptr<Communicator>(Communicator& host, const CudaEngine& engine)>;

/// A method and its options; a schedule is that of the ring's backward pass.
struct HowToAttend {
  const Method* method = &kRing;
  MethodOptions options = {};

  HowToAttend(Schedule schedule) : options{.schedule = schedule} {}
  HowToAttend(const Method& of, MethodOptions with) : method(&of), options(with) {}
};

/// A method of the library on world_size thread ranks, each with a CudaEngine, over any transport; `options`
/// are the switchboard's.
verify::Answer ring_over(const Connect& connect, SwitchboardOptions options, CudaRungs rungs,
                         const Problem& problem, const verify::Inputs& inputs, const HowToAttend& how);

/// The same on world_size virtual ranks of one device, over loopback; `delivery_seed` is the switchboard's.
verify::Answer ring_answer(CudaRungs rungs, const Problem& problem, const verify::Inputs& inputs,
                           const HowToAttend& how, std::uint64_t delivery_seed = 0);

/// The same over host memory: the reference for the bits of it.
verify::Answer staged_ring_answer(CudaRungs rungs, const Problem& problem, const verify::Inputs& inputs,
                                  const HowToAttend& how);

/// One engine, which plays each rank in turn and passes itself the KV blocks in the order of the ring. All
/// blocks of a rank are enqueued without waiting in between.
verify::Answer block_by_block_answer(CudaRungs rungs, const Problem& problem, const verify::Inputs& inputs);

/// One shard against one KV block.
verify::Answer one_block_answer(CudaRungs rungs, const verify::BlockProblem& problem, const KeyRanges& ranges,
                                const verify::Inputs& inputs);

}  // namespace ringcraft::kernels
