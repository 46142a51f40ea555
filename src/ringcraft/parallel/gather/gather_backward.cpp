// The backward pass of all-gather attention: keys and values are gathered again, and the gradients of each
// block go to its owner while the next block is computed.
#include <utility>

#include "ringcraft/parallel/gather/gather_blocks.hpp"
#include "ringcraft/parallel/gather/gather_passes.hpp"

namespace ringcraft {
namespace {

// The tensors of one slice of the heads.
struct SliceOfRows {
  Buffer q_place, out_place, lse_place, dout_place;  // copies, if there are several slices
  const Buffer *q, *out, *lse, *dout;
  Buffer delta, dq;
};

// Shares of gradients on their way to the owners, and the sum of those that have come for the own block.
class GradientExchange {
 public:
  GradientExchange(Communicator& comm, BlockEngine& engine, const GatherBlocks& blocks, Extents own)
      : comm_(comm), engine_(engine), blocks_(blocks), own_(own) {}

  // The share of this block leaves, and that of the rank at the same distance comes.
  void start(int distance, KvBlock share) {
    if (distance == 0) {
      sum_ = std::move(share);
      return;
    }
    const int to = blocks_.source(distance), from = blocks_.target(distance);
    leaving_ = std::move(share);
    if (blocks_.sees(from, comm_.rank()))
      arriving_ = {engine_.allocate(own_, Role::kAccumulator), engine_.allocate(own_, Role::kAccumulator)};
    pending_ = comm_.start({send_to(to, leaving_.k), send_to(to, leaving_.v),  //
                            recv_from(from, arriving_.k), recv_from(from, arriving_.v)});
  }
  // The message under way has come, and is added.
  void wait() {
    pending_.wait();
    leaving_ = {};
    if (!arriving_.k.empty()) engine_.add(sum_, arriving_);
    arriving_ = {};
  }
  KvBlock sum() { return std::move(sum_); }

 private:
  Communicator& comm_;
  BlockEngine& engine_;
  const GatherBlocks& blocks_;
  Extents own_;
  KvBlock leaving_, arriving_, sum_;
  Pending pending_;  // declared last: it waits before the buffers go
};

}  // namespace

Gradients gather_backward(Communicator& comm, BlockEngine& engine, const Problem& problem,
                          const HeadSlices& slices, const Buffer& q, const KvBlock& kv, const Output& output,
                          const Buffer& dout) {
  const int rank = comm.rank(), n = comm.world_size();
  GatherBlocks blocks(comm, engine, problem, slices, kv);
  Gradients whole;
  if (slices.count() > 1)
    whole = {engine.allocate(problem.q_extents(rank), Role::kAccumulator),
             {engine.allocate(problem.kv_extents(rank), Role::kAccumulator),
              engine.allocate(problem.kv_extents(rank), Role::kAccumulator)}};
  SliceOfRows rows;
  GradientExchange gradients(comm, engine, blocks, slices.of(problem.kv_extents(rank), Side::kKv));
  const auto take = [&](int slice) {
    const auto taken = [&](const Buffer& tensor, Role role, Buffer& place) {
      return &slices.taken(engine, tensor, Side::kQuery, slice, role, place);
    };
    rows.q = taken(q, Role::kElement, rows.q_place);
    rows.out = taken(output.out, Role::kAccumulator, rows.out_place);
    rows.lse = taken(output.lse, Role::kAccumulator, rows.lse_place);
    rows.dout = taken(dout, Role::kElement, rows.dout_place);
    rows.delta = engine.delta(*rows.out, *rows.dout);
    rows.dq = engine.allocate(rows.q->extents(), Role::kAccumulator);
    engine.set_zero(rows.dq);
  };
  const auto give = [&](int slice) {
    gradients.wait();
    KvBlock sum = gradients.sum();
    slices.put(engine, whole.dkv.k, std::move(sum.k), Side::kKv, slice);
    slices.put(engine, whole.dkv.v, std::move(sum.v), Side::kKv, slice);
    slices.put(engine, whole.dq, std::move(rows.dq), Side::kQuery, slice);
    rows = {};
  };
  for (const GatherStep& step : gather_steps(n, slices.count())) {
    Pending exchange = blocks.start(step);
    if (const auto [slice, distance] = step.computed; step.computed.some()) {
      if (distance == 0) take(slice);
      const int source = blocks.source(distance);
      if (distance == 0 || blocks.sees(rank, source)) {
        const Extents e = slices.of(problem.kv_extents(source), Side::kKv);
        KvBlock share{engine.allocate(e, Role::kAccumulator), engine.allocate(e, Role::kAccumulator)};
        engine.backward(rows.dq, share, {*rows.q, *rows.out, *rows.lse, *rows.dout, rows.delta},
                        blocks.block(step.computed), blocks.ranges(step.computed), problem.softmax_scale);
        gradients.wait();
        gradients.start(distance, std::move(share));
      } else {
        gradients.wait();
        gradients.start(distance, {});
      }
      if (distance == n - 1) give(slice);
    }
    exchange.wait();
    if (step.computed.some()) blocks.drop(step.computed);
  }
  return whole;
}

}  // namespace ringcraft
