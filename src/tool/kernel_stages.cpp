// The kernels' stages (see kernel_stages.hpp): what they compute, and what that costs.
#include "tool/kernel_stages.hpp"

#include <algorithm>
#include <chrono>
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
using verify::PassCost;

// ---- one device

Buffer zeros(const Extents& extents, CudaEngine& engine) {
  Buffer buffer = engine.allocate(extents, Role::kAccumulator);
  engine.set_zero(buffer);
  return buffer;
}

// A whole problem on one device with these kernels.
Answer run_kernels(CudaRungs rungs, const Problem& problem, const Inputs& inputs, Measurement& cost) {
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

// One rank of a ring of engines: what it keeps between its two passes.
struct Rank {
  std::shared_ptr<MemoryMeter> meter = std::make_shared<MemoryMeter>();
  Buffer q, dout;
  KvBlock kv;  // its own; after the forward pass, where the backward pass starts
  Output output;
  RingGradients gradients;
};

// One pass on all ranks. The meters live on: what the forward pass left is held in the backward pass.
template <class Body>
PassCost run_pass(std::vector<Rank>& ranks, Body body) {
  PassCost cost;
  cost.work.resize(ranks.size());
  const auto start = std::chrono::steady_clock::now();
  kernels::Loopback loopback(static_cast<int>(ranks.size()));
  const auto run_rank = [&](ThreadCommunicator& host) {
    const auto r = static_cast<std::size_t>(host.rank());
    const MeterScope scope(ranks[r].meter);
    CudaEngine engine;
    kernels::LoopbackCommunicator comm(host, engine.stream(), loopback);
    body(comm, engine, ranks[r]);
    engine.stream().synchronize();
    cost.work[r] = engine.work();
  };
  RanksReport report = run_ranks(static_cast<int>(ranks.size()), run_rank, loopback.options());
  cost.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  cost.traffic = std::move(report.traffic);
  for (const Rank& rank : ranks) cost.peak_bytes.push_back(rank.meter->peak());
  return cost;
}

// The library's ring, forward and (reversed) backward, on ranks that compute with kernels.
Answer run_kernel_ring(const Problem& problem, const Inputs& inputs, Measurement& cost) {
  const Sharding sharding = problem.sharding();
  std::vector<Rank> ranks(static_cast<std::size_t>(problem.world_size));
  const auto shard = [&](const Buffer& whole, int rank, const CudaEngine& engine) {
    return copied_to_device(scatter(whole, sharding, rank), engine.stream());
  };
  cost.forward = run_pass(ranks, [&](Communicator& comm, CudaEngine& engine, Rank& rank) {
    rank.q = shard(inputs.q, comm.rank(), engine);
    rank.kv = {shard(inputs.k, comm.rank(), engine), shard(inputs.v, comm.rank(), engine)};
    auto [output, last] = ring_forward(comm, engine, problem, rank.q, rank.kv);
    rank.output = std::move(output);
    if (last.k.extents() != Extents{}) rank.kv = std::move(last);
  });
  if (inputs.has_backward())
    cost.backward = run_pass(ranks, [&](Communicator& comm, CudaEngine& engine, Rank& rank) {
      rank.dout = shard(inputs.dout, comm.rank(), engine);
      rank.gradients =
          ring_backward(comm, engine, problem, Schedule::kReversed, rank.q, rank.kv, rank.output, rank.dout);
    });

  const kernels::Stream stream;
  const auto whole = [&](const Buffer& like, auto part) {
    Extents extents = like.extents();
    extents.width = part(ranks[0]).extents().width;
    Buffer tensor(extents, DType::kFloat32);
    for (int r = 0; r < problem.world_size; ++r)
      gather(tensor, copied_to_host(part(ranks[static_cast<std::size_t>(r)]), stream), sharding, r);
    return tensor;
  };
  Answer answer{whole(inputs.q, [](const Rank& r) -> const Buffer& { return r.output.out; }),
                whole(inputs.q, [](const Rank& r) -> const Buffer& { return r.output.lse; }),
                {},
                {},
                {}};
  if (!inputs.has_backward()) return answer;
  answer.dq = whole(inputs.q, [](const Rank& r) -> const Buffer& { return r.gradients.dq; });
  answer.dk = whole(inputs.k, [](const Rank& r) -> const Buffer& { return r.gradients.dkv.k; });
  answer.dv = whole(inputs.v, [](const Rank& r) -> const Buffer& { return r.gradients.dkv.v; });
  return answer;
}

// ---- what one device must hold, in elements

Index q_elements(const Shape& s) { return s.batch * s.heads * s.seqlen * s.head_dim; }
Index kv_elements(const Shape& s) { return s.batch * s.kv_heads * s.seqlen * s.head_dim; }
Index row_elements(const Shape& s) { return s.batch * s.heads * s.seqlen; }

// Forward q, k, v, O, m, l; backward q, k, v, out, dout, dq, dk, dv, lse, delta.
Index fused_peak(const Shape& s, bool backward) {
  return (backward ? 4 : 2) * (q_elements(s) + kv_elements(s)) + 2 * row_elements(s);
}
// And S of all heads, with a factor per row.
Index scores_peak(const Shape& s, bool) { return fused_peak(s, false) + row_elements(s) * (s.seqlen + 1); }
// And P and dS of all heads.
Index gradients_peak(const Shape& s, bool backward) {
  return fused_peak(s, backward) + (backward ? 2 : 0) * row_elements(s) * s.seqlen;
}
// A quarter of k and v at a time, and the state of one block beside that of all.
Index merge_peak(const Shape& s, bool) {
  return 3 * q_elements(s) + 2 * s.batch * s.kv_heads * ((s.seqlen + 3) / 4) * s.head_dim +
         4 * row_elements(s);
}

using Run = std::function<Answer(const Problem&, const Inputs&, Measurement&)>;

Run with(CudaRungs rungs) {
  return [=](const Problem& problem, const Inputs& inputs, Measurement& cost) {
    return run_kernels(rungs, problem, inputs, cost);
  };
}

}  // namespace

std::vector<verify::Stage> kernel_stages(Layout layout) {
  constexpr auto kAll = Expect::kAll, kForward = Expect::kForward;
  constexpr auto kReversed = Schedule::kReversed;
  return {
      // clang-format off
      {"naive kernels", 201, "dense", kForward, {}, {}, scores_peak, with({.forward = &kernels::kNaive}), {}},
      {"tiled kernels", 202, "naive kernels", kForward, {}, {}, scores_peak, with({.forward = &kernels::kTiles}), {}},
      {"fused kernel", 202, "tiled kernels", kForward, {}, {}, fused_peak, with({.forward = &kernels::kOnlineSoftmax}), {}},
      {"merge kernel", 205, "fused kernel", kForward, {}, {}, merge_peak, run_merge_kernel, {}},
      {"ring that carries", 205, "merge kernel", kForward, layout, {}, nullptr, run_kernel_ring, {}},
      {"naive gradients", 206, "dense", kAll, {}, {}, gradients_peak, with({.backward = &kernels::kNaiveBackward}), {}},
      {"tiled gradients", 206, "naive gradients", kAll, {}, {}, fused_peak, with({.backward = &kernels::kTwoKernels}), {}},
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
