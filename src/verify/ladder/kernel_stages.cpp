// Defines the stages that run kernels (see kernel_stages.hpp), with their memory cost. Compiled twice, for a
// GPU and for the CPU; RINGCRAFT_KERNEL_STAGES is the function's name.
#include "verify/ladder/kernel_stages.hpp"

#include <algorithm>
#include <utility>

#include "engine/cuda_engine.hpp"
#include "engine/device_place.hpp"
#include "merge/merge.hpp"
#include "ringcraft/comm/threads.hpp"
#include "ringcraft/core/error.hpp"
#include "verify/ladder/single_device_cost.hpp"

namespace ringcraft::verify {
namespace {

using kernels::CudaEngine;
using kernels::CudaRungs;
using kernels::device_floats;

// ---- one device

Buffer zeros(const Extents& extents, CudaEngine& engine) {
  Buffer buffer = engine.allocate(extents, Role::kAccumulator);
  engine.set_zero(buffer);
  return buffer;
}

// Runs a whole problem on one device with these kernels, in their number type.
Answer run_kernels(CudaRungs rungs, const Problem& problem, const Inputs& given, Measurement& cost) {
  const Inputs inputs = converted(given, rungs.forward->dtype);
  const KeyRanges ranges = key_ranges(problem.mask, problem.shape.seqlen);
  const auto meter = std::make_shared<MemoryMeter>();
  CudaEngine engine(0, rungs);
  const auto on_device = [&](const Buffer& host) { return copied_to_device(host, engine.stream()); };
  const auto on_host = [&](const Buffer& device) { return copied_to_host(device, engine.stream()); };
  Buffer q, dout, delta, dq;
  KvBlock kv, dkv;
  Output output;
  measure(cost.forward, meter, ranges.pairs(), [&] {
    q = on_device(inputs.q);
    kv = {on_device(inputs.k), on_device(inputs.v)};
    RowState state = engine.begin(q);
    engine.forward(state, q, kv, ranges, problem.softmax_scale);
    output = engine.finish(std::move(state));
    engine.stream().synchronize();
  });
  if (!inputs.has_backward()) return {on_host(output.out), on_host(output.lse), {}, {}, {}};
  measure(cost.backward, meter, ranges.pairs(), [&] {
    dout = on_device(inputs.dout);
    delta = engine.delta(output.out, dout);
    dq = zeros(q.extents(), engine);
    dkv = {zeros(kv.k.extents(), engine), zeros(kv.v.extents(), engine)};
    engine.backward(dq, dkv, {q, output.out, output.lse, dout, delta}, kv, ranges, problem.softmax_scale);
    engine.stream().synchronize();
  });
  return {on_host(output.out), on_host(output.lse), on_host(dq), on_host(dkv.k), on_host(dkv.v)};
}

// Splits the keys into four blocks, each with its own result, and merges them with the merge kernel.
Answer run_merge_kernel(const Problem& problem, const Inputs& inputs, Measurement& cost) {
  const Sharding blocks{Layout::kContiguous, problem.shape.seqlen, 4};
  const std::vector<Position> queries = problem.sharding().positions(0);
  const Index pairs = key_ranges(problem.mask, problem.shape.seqlen).pairs();
  const auto meter = std::make_shared<MemoryMeter>();
  CudaEngine engine;
  const auto on_device = [&](const Buffer& host) { return copied_to_device(host, engine.stream()); };
  Output output;
  measure(cost.forward, meter, pairs, [&] {
    const Buffer q = on_device(inputs.q);
    RowState all = engine.begin(q);
    for (int b = 0; b < blocks.world_size; ++b) {
      const KvBlock kv{on_device(scatter(inputs.k, blocks, b)), on_device(scatter(inputs.v, blocks, b))};
      const KeyRanges ranges = ranges_of(problem.mask, problem.shape.seqlen, queries, blocks.positions(b));
      RowState state = engine.begin(q);
      engine.forward(state, q, kv, ranges, problem.softmax_scale);
      kernels::merge({device_floats(all.out), device_floats(all.max), device_floats(all.sum)},
                     {device_floats(state.out), device_floats(state.max), device_floats(state.sum)},
                     all.max.extents().elements(), static_cast<int>(q.extents().width),
                     engine.stream().get());
    }
    output = engine.finish(std::move(all));
    engine.stream().synchronize();
  });
  return {
      copied_to_host(output.out, engine.stream()), copied_to_host(output.lse, engine.stream()), {}, {}, {}};
}

// ---- a ring

// The library's ring, forward and (reversed) backward, on virtual ranks of one device.
Answer run_kernel_ring(const Problem& problem, const Inputs& inputs, Measurement& cost) {
  kernels::Loopback loopback(problem.world_size);
  const auto at_place = [&](ThreadCommunicator& host, RankTrace* trace, const auto& body) {
    kernels::at_loopback(loopback, host, {}, trace, body);
  };
  return run_over_ranks(problem, inputs, {.board = loopback.options(), .at_place = at_place}, &cost);
}

// ---- memory needed on one device, in bytes

// Additionally S of all heads, with a factor per row.
Index scores_peak(const Shape& s, bool, RoleBytes bytes) {
  return blockwise_peak(s, false, bytes) + bytes_of(bytes, 0, row_elements(s) * (s.seqlen + 1));
}
// Additionally P and dS of all heads.
Index gradients_peak(const Shape& s, bool backward, RoleBytes bytes) {
  return blockwise_peak(s, backward, bytes) +
         bytes_of(bytes, 0, (backward ? 2 : 0) * row_elements(s) * s.seqlen);
}
// A quarter of k and v at a time, and the state of one block besides the accumulated one.
Index merge_peak(const Shape& s, bool, RoleBytes bytes) {
  return bytes_of(bytes, q_elements(s) + 2 * s.batch * s.kv_heads * ((s.seqlen + 3) / 4) * s.head_dim,
                  2 * q_elements(s) + 4 * row_elements(s));
}

using Run = std::function<Answer(const Problem&, const Inputs&, Measurement&)>;

Run with(CudaRungs rungs) {
  return [=](const Problem& problem, const Inputs& inputs, Measurement& cost) {
    return run_kernels(rungs, problem, inputs, cost);
  };
}

Stage in_bfloat16(Stage stage) {
  stage.dtype = DType::kBFloat16;
  return stage;
}

// Adds the layout's lesson to those of the ring: on the host a ring runs the files of both.
std::vector<int> with_layout(std::vector<int> lessons, Layout layout) {
  lessons.push_back(layout == Layout::kContiguous || layout == Layout::kZigzag ? 403 : 402);
  lessons.push_back(404);  // how far blocks are needed
  return lessons;
}

std::vector<Stage> stages(Layout layout) {
  constexpr auto kAll = Expect::kAll, kForward = Expect::kForward;
  std::vector<Stage> all{
      // clang-format off
      {"naive kernels", 201, "dense", kForward, {}, scores_peak, with({.forward = &kernels::kNaive}), {201}},
      {"tiled kernels", 202, "naive kernels", kForward, {}, scores_peak, with({.forward = &kernels::kTiles}), {202}},
      {"fused kernel", 202, "tiled kernels", kForward, {}, blockwise_peak, with({.forward = &kernels::kOnlineSoftmax}), {}},
      in_bfloat16({"tensor-core kernel", 203, "fused kernel", kForward, {}, blockwise_peak, with({.forward = &kernels::kTensorCores}), {203}}),
      in_bfloat16({"pipelined kernel", 204, "tensor-core kernel", kForward, {}, blockwise_peak, with({.forward = &kernels::kPipeline}), {204}}),
      {"merge kernel", 205, "fused kernel", kForward, {}, merge_peak, run_merge_kernel, {205}},
      {"ring that carries", 205, "merge kernel", kForward, OverRanks{layout}, nullptr, run_kernel_ring, with_layout({303}, layout)},
      {"naive gradients", 206, "dense", kAll, {}, gradients_peak, with({.backward = &kernels::kNaiveBackward}), {}},
      {"tiled gradients", 206, "naive gradients", kAll, {}, blockwise_peak, with({.backward = &kernels::kTwoKernels}), {206}},
      in_bfloat16({"tensor-core gradients", 206, "tiled gradients", kAll, {}, blockwise_peak, with(kernels::with_forward(kernels::kTensorCoresBackward)), {204}}),
      in_bfloat16({"fused gradients", 206, "tensor-core gradients", kAll, {}, blockwise_peak, with(kernels::with_forward(kernels::kFusedBackward)), {204}}),
      {"ring of kernels", 206, "tiled gradients", kAll, OverRanks{layout}, nullptr, run_kernel_ring, with_layout({206, 303, 304}, layout)},
      // clang-format on
  };
  for (Stage& stage : all) stage.lessons.push_back(405);  // every kernel gets ranges of keys
  return all;
}

Index largest_head_dim() {
  int least = kernels::kTwoKernels.largest_head_dim;
  for (const kernels::ForwardRung* rung : kernels::forward_rungs())
    least = std::min(least, rung->largest_head_dim);
  for (const kernels::BackwardRung* rung : kernels::backward_rungs())
    least = std::min(least, rung->largest_head_dim);
  return least;
}

}  // namespace

KernelStages RINGCRAFT_KERNEL_STAGES(Layout layout) {
  try {
    return {kernels::use_device().name, largest_head_dim(), stages(layout)};
  } catch (const Error& error) {
    if (error.code() != Code::kMissing) throw;
    return {};
  }
}

}  // namespace ringcraft::verify
