// The GPU as a subject of the harness (see subjects.hpp).
#include "subjects.hpp"

#include <mutex>
#include <utility>
#include <vector>

#include "engine/cuda_engine.hpp"
#include "ringcraft/comm/threads.hpp"
#include "ringcraft/ring/ring.hpp"
#include "staged_communicator.hpp"

namespace ringcraft::kernels {
namespace {

// An answer of the whole problem, to be filled shard by shard. New host memory is NaN.
verify::Answer unwritten(const Extents& q) {
  verify::Answer answer;
  answer.out = Buffer(q, DType::kFloat32);
  answer.lse = Buffer({q.batch, q.heads, q.rows, 1}, DType::kFloat32);
  return answer;
}

void gather_output(verify::Answer& answer, const Output& output, const Sharding& sharding, int rank,
                   const Stream& stream) {
  gather(answer.out, copied_to_host(output.out, stream), sharding, rank);
  gather(answer.lse, copied_to_host(output.lse, stream), sharding, rank);
}

Buffer shard(const Buffer& tensor, const Sharding& sharding, int rank, const Stream& stream) {
  return copied_to_device(scatter(tensor, sharding, rank), stream);
}

KvBlock kv_shard(const verify::Inputs& inputs, const Sharding& sharding, int rank, const Stream& stream) {
  return {shard(inputs.k, sharding, rank, stream), shard(inputs.v, sharding, rank, stream)};
}

}  // namespace

verify::Answer ring_answer(CudaRungs rungs, const Problem& problem, const verify::Inputs& inputs) {
  verify::Answer answer = unwritten(inputs.q.extents());
  const Sharding sharding = problem.sharding();
  std::mutex gathering;
  run_ranks(problem.world_size, [&](ThreadCommunicator& host) {
    CudaEngine engine(0, rungs);
    StagedCommunicator comm(host, engine.stream());
    const Buffer q = shard(inputs.q, sharding, comm.rank(), engine.stream());
    const KvBlock kv = kv_shard(inputs, sharding, comm.rank(), engine.stream());
    const RingOutput result = ring_forward(comm, engine, problem, q, kv);
    const std::lock_guard lock(gathering);
    gather_output(answer, result.output, sharding, comm.rank(), engine.stream());
  });
  return answer;
}

verify::Answer block_by_block_answer(CudaRungs rungs, const Problem& problem, const verify::Inputs& inputs) {
  verify::Answer answer = unwritten(inputs.q.extents());
  const Sharding sharding = problem.sharding();
  const int n = problem.world_size;
  CudaEngine engine(0, rungs);
  std::vector<KvBlock> blocks;
  for (int source = 0; source < n; ++source)
    blocks.push_back(kv_shard(inputs, sharding, source, engine.stream()));
  for (int rank = 0; rank < n; ++rank) {
    const Buffer q = shard(inputs.q, sharding, rank, engine.stream());
    RowState state = engine.begin(q);
    for (int t = 0; t < n; ++t) {
      const int source = (rank - t + n) % n;
      engine.forward(state, q, blocks[static_cast<std::size_t>(source)], key_ranges(problem, rank, source),
                     problem.softmax_scale);
    }
    gather_output(answer, engine.finish(std::move(state)), sharding, rank, engine.stream());
  }
  return answer;
}

verify::Answer one_block_answer(CudaRungs rungs, const verify::BlockProblem& problem, const KeyRanges& ranges,
                                const verify::Inputs& inputs) {
  CudaEngine engine(0, rungs);
  const Buffer q = copied_to_device(inputs.q, engine.stream());
  const KvBlock kv{copied_to_device(inputs.k, engine.stream()), copied_to_device(inputs.v, engine.stream())};
  RowState state = engine.begin(q);
  engine.forward(state, q, kv, ranges, problem.softmax_scale);
  const Output output = engine.finish(std::move(state));
  verify::Answer answer;
  answer.out = copied_to_host(output.out, engine.stream());
  answer.lse = copied_to_host(output.lse, engine.stream());
  return answer;
}

}  // namespace ringcraft::kernels
