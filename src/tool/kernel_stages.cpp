// The kernels' stages (see kernel_stages.hpp): what they compute, and what that costs.
#include "tool/kernel_stages.hpp"

#include <algorithm>
#include <utility>

#include "engine/cuda_engine.hpp"
#include "engine/loopback.hpp"
#include "merge/merge.hpp"
#include "ringcraft/comm/threads.hpp"
#include "verify/single_device_cost.hpp"

namespace ringcraft::tool {
namespace {

using kernels::CudaEngine;
using kernels::CudaRungs;
using kernels::device_floats;
using verify::Answer;
using verify::Expect;
using verify::Inputs;
using verify::Measurement;

// ---- one device

Buffer zeros(const Extents& extents, CudaEngine& engine) {
  Buffer buffer = engine.allocate(extents, Role::kAccumulator);
  engine.set_zero(buffer);
  return buffer;
}

// A whole problem on one device with these kernels, in their number type.
Answer run_kernels(CudaRungs rungs, const Problem& problem, const Inputs& given, Measurement& cost) {
  const Inputs inputs = verify::converted(given, rungs.forward->dtype);
  const KeyRanges ranges = key_ranges(problem.mask, problem.shape.seqlen);
  const auto meter = std::make_shared<MemoryMeter>();
  CudaEngine engine(0, rungs);
  const auto on_device = [&](const Buffer& host) { return copied_to_device(host, engine.stream()); };
  const auto on_host = [&](const Buffer& device) { return copied_to_host(device, engine.stream()); };
  Buffer q, dout, delta, dq;
  KvBlock kv, dkv;
  Output output;
  verify::measure(cost.forward, meter, ranges.pairs(), [&] {
    q = on_device(inputs.q);
    kv = {on_device(inputs.k), on_device(inputs.v)};
    RowState state = engine.begin(q);
    engine.forward(state, q, kv, ranges, problem.softmax_scale);
    output = engine.finish(std::move(state));
  });
  if (!inputs.has_backward()) return {on_host(output.out), on_host(output.lse), {}, {}, {}};
  verify::measure(cost.backward, meter, ranges.pairs(), [&] {
    dout = on_device(inputs.dout);
    delta = engine.delta(output.out, dout);
    dq = zeros(q.extents(), engine);
    dkv = {zeros(kv.k.extents(), engine), zeros(kv.v.extents(), engine)};
    engine.backward(dq, dkv, {q, output.out, output.lse, dout, delta}, kv, ranges, problem.softmax_scale);
  });
  return {on_host(output.out), on_host(output.lse), on_host(dq), on_host(dkv.k), on_host(dkv.v)};
}

// The keys in four blocks, each with a result of its own: the merge kernel puts them together.
Answer run_merge_kernel(const Problem& problem, const Inputs& inputs, Measurement& cost) {
  const Sharding blocks{Layout::kContiguous, problem.shape.seqlen, 4};
  const std::vector<Position> queries = problem.sharding().positions(0);
  const Index pairs = key_ranges(problem.mask, problem.shape.seqlen).pairs();
  const auto meter = std::make_shared<MemoryMeter>();
  CudaEngine engine;
  const auto on_device = [&](const Buffer& host) { return copied_to_device(host, engine.stream()); };
  Output output;
  verify::measure(cost.forward, meter, pairs, [&] {
    const Buffer q = on_device(inputs.q);
    RowState all = engine.begin(q);
    for (int b = 0; b < blocks.world_size; ++b) {
      const KvBlock kv{on_device(scatter(inputs.k, blocks, b)), on_device(scatter(inputs.v, blocks, b))};
      const KeyRanges ranges = key_ranges(problem.mask, problem.shape.seqlen, queries, blocks.positions(b));
      RowState state = engine.begin(q);
      engine.forward(state, q, kv, ranges, problem.softmax_scale);
      kernels::merge({device_floats(all.out), device_floats(all.max), device_floats(all.sum)},
                     {device_floats(state.out), device_floats(state.max), device_floats(state.sum)},
                     all.max.extents().elements(), static_cast<int>(q.extents().width),
                     engine.stream().get());
    }
    output = engine.finish(std::move(all));
  });
  return {
      copied_to_host(output.out, engine.stream()), copied_to_host(output.lse, engine.stream()), {}, {}, {}};
}

// ---- a ring

// Virtual ranks on one device.
class LoopbackPlace final : public verify::RingPlace {
 public:
  explicit LoopbackPlace(int world_size) : loopback_(world_size) {}
  SwitchboardOptions board() { return loopback_.options(); }

  void on_rank(ThreadCommunicator& host,
               const std::function<void(Communicator&, BlockEngine&)>& body) override {
    CudaEngine engine;
    kernels::LoopbackCommunicator comm(host, engine.stream(), loopback_);
    body(comm, engine);
    engine.stream().synchronize();
  }
  Buffer taken(const Buffer& host, const BlockEngine& engine) override {
    return copied_to_device(host, static_cast<const CudaEngine&>(engine).stream());
  }
  Buffer on_host(const Buffer& tensor) override { return copied_to_host(tensor, stream_); }

 private:
  kernels::Loopback loopback_;
  kernels::Stream stream_;
};

// The library's ring, forward and (reversed) backward, on ranks that compute with kernels.
Answer run_kernel_ring(const Problem& problem, const Inputs& inputs, Measurement& cost) {
  LoopbackPlace place(problem.world_size);
  return verify::run_ring(problem, inputs, {.board = place.board(), .place = &place}, &cost);
}

// ---- what one device must hold, in bytes

using verify::blockwise_peak;
using verify::bytes_of;
using verify::kv_elements;
using verify::q_elements;
using verify::row_elements;

// And S of all heads, with a factor per row.
Index scores_peak(const Shape& s, bool, RoleBytes bytes) {
  return blockwise_peak(s, false, bytes) + bytes_of(bytes, 0, row_elements(s) * (s.seqlen + 1));
}
// And P and dS of all heads.
Index gradients_peak(const Shape& s, bool backward, RoleBytes bytes) {
  return blockwise_peak(s, backward, bytes) +
         bytes_of(bytes, 0, (backward ? 2 : 0) * row_elements(s) * s.seqlen);
}
// A quarter of k and v at a time, and the state of one block beside that of all.
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

verify::Stage in_bfloat16(verify::Stage stage) {
  stage.dtype = DType::kBFloat16;
  return stage;
}

}  // namespace

std::vector<verify::Stage> kernel_stages(Layout layout) {
  constexpr auto kAll = Expect::kAll, kForward = Expect::kForward;
  constexpr auto kReversed = Schedule::kReversed;
  return {
      // clang-format off
      {"naive kernels", 201, "dense", kForward, {}, {}, scores_peak, with({.forward = &kernels::kNaive}), {}},
      {"tiled kernels", 202, "naive kernels", kForward, {}, {}, scores_peak, with({.forward = &kernels::kTiles}), {}},
      {"fused kernel", 202, "tiled kernels", kForward, {}, {}, blockwise_peak, with({.forward = &kernels::kOnlineSoftmax}), {}},
      in_bfloat16({"tensor-core kernel", 203, "fused kernel", kForward, {}, {}, blockwise_peak, with({.forward = &kernels::kTensorCores}), {}}),
      in_bfloat16({"pipelined kernel", 204, "tensor-core kernel", kForward, {}, {}, blockwise_peak, with({.forward = &kernels::kPipeline}), {}}),
      {"merge kernel", 205, "fused kernel", kForward, {}, {}, merge_peak, run_merge_kernel, {}},
      {"ring that carries", 205, "merge kernel", kForward, layout, {}, nullptr, run_kernel_ring, {}},
      {"naive gradients", 206, "dense", kAll, {}, {}, gradients_peak, with({.backward = &kernels::kNaiveBackward}), {}},
      {"tiled gradients", 206, "naive gradients", kAll, {}, {}, blockwise_peak, with({.backward = &kernels::kTwoKernels}), {}},
      in_bfloat16({"tensor-core gradients", 206, "tiled gradients", kAll, {}, {}, blockwise_peak, with(kernels::with_forward(kernels::kTensorCoresBackward)), {}}),
      in_bfloat16({"fused gradients", 206, "tensor-core gradients", kAll, {}, {}, blockwise_peak, with(kernels::with_forward(kernels::kFusedBackward)), {}}),
      {"ring of kernels", 206, "tiled gradients", kAll, layout, kReversed, nullptr, run_kernel_ring, {}},
      // clang-format on
  };
}

Index largest_head_dim_of_kernels() {
  int least = kernels::kTwoKernels.largest_head_dim;
  for (const kernels::ForwardRung* rung : kernels::forward_rungs())
    least = std::min(least, rung->largest_head_dim);
  for (const kernels::BackwardRung* rung : kernels::backward_rungs())
    least = std::min(least, rung->largest_head_dim);
  return least;
}

}  // namespace ringcraft::tool
