// CudaEngine as a subject of the harness.
#include "subjects.hpp"

#include <memory>
#include <utility>
#include <vector>

#include "engine/device_place.hpp"
#include "ringcraft/comm/threads.hpp"
#include "staged_communicator.hpp"
#include "verify/ladder/whole.hpp"

namespace ringcraft::kernels {
namespace {

// An answer of the whole problem, to be filled shard by shard. New host memory is NaN.
verify::Answer unwritten(const verify::Inputs& inputs) {
  const auto like = [](const Buffer& tensor) { return Buffer(tensor.extents(), DType::kFloat32); };
  const Extents& q = inputs.q.extents();
  verify::Answer answer;
  answer.out = like(inputs.q);
  answer.lse = Buffer({q.batch, q.heads, q.rows, 1}, DType::kFloat32);
  if (!inputs.has_backward()) return answer;
  answer.dq = like(inputs.q);
  answer.dk = like(inputs.k);
  answer.dv = like(inputs.v);
  return answer;
}

// Puts shards of device memory into their places in an answer.
struct Gathering {
  verify::Answer& answer;
  const Sharding& sharding;
  const Stream& stream;

  void output(const Output& output, int rank) const {
    put(answer.out, output.out, rank);
    put(answer.lse, output.lse, rank);
  }
  void kv_gradients(const KvBlock& dkv, int rank) const {
    put(answer.dk, dkv.k, rank);
    put(answer.dv, dkv.v, rank);
  }
  void put(Buffer& whole, const Buffer& shard, int rank) const {
    gather(whole, copied_to_host(shard, stream), sharding, rank);
  }
};

Buffer shard(const Buffer& tensor, const Sharding& sharding, int rank, const Stream& stream) {
  return copied_to_device(scatter(tensor, sharding, rank), stream);
}

KvBlock kv_shard(const verify::Inputs& inputs, const Sharding& sharding, int rank, const Stream& stream) {
  return {shard(inputs.k, sharding, rank, stream), shard(inputs.v, sharding, rank, stream)};
}

Buffer zeros_like(const Buffer& tensor, CudaEngine& engine) {
  Buffer zeros = engine.allocate(tensor.extents(), Role::kAccumulator);
  engine.set_zero(zeros);
  return zeros;
}

KvBlock zeros_like(const KvBlock& block, CudaEngine& engine) {
  return {zeros_like(block.k, engine), zeros_like(block.v, engine)};
}

}  // namespace

verify::Answer ring_over(const Connect& connect, SwitchboardOptions options, CudaRungs rungs,
                         const Problem& problem, const verify::Inputs& inputs, const HowToAttend& how) {
  verify::Answer answer;
  const auto rank_body = [&](ThreadCommunicator& host) {
    CudaEngine engine(0, rungs);
    const std::unique_ptr<Communicator> comm = connect(host, engine);
    DevicePlace place(*comm, engine);
    WholeResult result = run_method(*how.method, place, problem, how.options, verify::whole(inputs));
    if (host.rank() == 0) answer = verify::answer_of(std::move(result));
  };
  run_ranks(problem.world_size, rank_body, std::move(options));
  return answer;
}

verify::Answer ring_answer(CudaRungs rungs, const Problem& problem, const verify::Inputs& inputs,
                           const HowToAttend& how, std::uint64_t delivery_seed) {
  Loopback loopback(problem.world_size);
  const auto connect = [&](Communicator& host, const CudaEngine& engine) {
    return std::make_unique<LoopbackCommunicator>(host, engine.stream(), loopback);
  };
  return ring_over(connect, loopback.options(delivery_seed), rungs, problem, inputs, how);
}

verify::Answer staged_ring_answer(CudaRungs rungs, const Problem& problem, const verify::Inputs& inputs,
                                  const HowToAttend& how) {
  const auto connect = [](Communicator& host, const CudaEngine& engine) {
    return std::make_unique<StagedCommunicator>(host, engine.stream());
  };
  return ring_over(connect, {}, rungs, problem, inputs, how);
}

verify::Answer block_by_block_answer(CudaRungs rungs, const Problem& problem, const verify::Inputs& inputs) {
  verify::Answer answer = unwritten(inputs);
  const Sharding sharding = problem.sharding();
  const int n = problem.world_size;
  CudaEngine engine(0, rungs);
  const Gathering gathered{answer, sharding, engine.stream()};
  std::vector<KvBlock> blocks, gradients;
  for (int source = 0; source < n; ++source) {
    blocks.push_back(kv_shard(inputs, sharding, source, engine.stream()));
    if (inputs.has_backward()) gradients.push_back(zeros_like(blocks.back(), engine));
  }
  const auto for_each_block = [&](int rank, auto body) {
    for (int t = 0; t < n; ++t) {
      const int source = (rank - t + n) % n;
      body(static_cast<std::size_t>(source), key_ranges(problem, rank, source));
    }
  };
  for (int rank = 0; rank < n; ++rank) {
    const Buffer q = shard(inputs.q, sharding, rank, engine.stream());
    RowState state = engine.begin(q);
    for_each_block(rank, [&](std::size_t source, const KeyRanges& ranges) {
      engine.forward(state, q, blocks[source], ranges, problem.softmax_scale);
    });
    const Output output = engine.finish(std::move(state));
    gathered.output(output, rank);
    if (!inputs.has_backward()) continue;

    const Buffer dout = shard(inputs.dout, sharding, rank, engine.stream());
    const Buffer delta = engine.delta(output.out, dout);
    const Saved saved{q, output.out, output.lse, dout, delta};
    Buffer dq = zeros_like(q, engine);
    for_each_block(rank, [&](std::size_t source, const KeyRanges& ranges) {
      KvBlock part = zeros_like(blocks[source], engine);
      engine.backward(dq, part, saved, blocks[source], ranges, problem.softmax_scale);
      engine.add(gradients[source], part);
    });
    gathered.put(answer.dq, dq, rank);
  }
  for (int source = 0; source < n && inputs.has_backward(); ++source)
    gathered.kv_gradients(gradients[static_cast<std::size_t>(source)], source);
  return answer;
}

verify::Answer one_block_answer(CudaRungs rungs, const verify::BlockProblem& problem, const KeyRanges& ranges,
                                const verify::Inputs& inputs) {
  CudaEngine engine(0, rungs);
  const auto on_device = [&](const Buffer& host) { return copied_to_device(host, engine.stream()); };
  const auto on_host = [&](const Buffer& device) { return copied_to_host(device, engine.stream()); };
  const Buffer q = on_device(inputs.q);
  const KvBlock kv{on_device(inputs.k), on_device(inputs.v)};
  RowState state = engine.begin(q);
  engine.forward(state, q, kv, ranges, problem.softmax_scale);
  const Output output = engine.finish(std::move(state));
  verify::Answer answer;
  answer.out = on_host(output.out);
  answer.lse = on_host(output.lse);
  if (!inputs.has_backward()) return answer;

  const Buffer dout = on_device(inputs.dout);
  const Buffer delta = engine.delta(output.out, dout);
  Buffer dq = zeros_like(q, engine);
  KvBlock part{engine.allocate(kv.k.extents(), Role::kAccumulator),
               engine.allocate(kv.v.extents(), Role::kAccumulator)};  // NaN: the engine sets it to zero
  engine.backward(dq, part, {q, output.out, output.lse, dout, delta}, kv, ranges, problem.softmax_scale);
  answer.dq = on_host(dq);
  answer.dk = on_host(part.k);
  answer.dv = on_host(part.v);
  return answer;
}

}  // namespace ringcraft::kernels
