// The forward pass of all-gather attention: keys and values come to every rank, slice by slice of the heads;
// queries stay.
#include <utility>

#include "ringcraft/parallel/gather/gather_blocks.hpp"
#include "ringcraft/parallel/gather/gather_passes.hpp"

namespace ringcraft {

Output gather_forward(Communicator& comm, BlockEngine& engine, const Problem& problem,
                      const HeadSlices& slices, const Buffer& q, const KvBlock& kv) {
  GatherBlocks blocks(comm, engine, problem, slices, kv);
  Output whole;
  if (slices.count() > 1)
    whole = {engine.allocate(problem.q_extents(comm.rank()), Role::kAccumulator),
             engine.allocate(problem.row_extents(comm.rank()), Role::kAccumulator)};
  Buffer q_place;
  const Buffer* queries = nullptr;
  RowState state;
  for (const GatherStep& step : gather_steps(comm.world_size(), slices.count())) {
    Pending exchange = blocks.start(step);
    if (const auto [slice, distance] = step.computed; step.computed.some()) {
      if (distance == 0) {
        queries = &slices.taken(engine, q, Side::kQuery, slice, Role::kElement, q_place);
        state = engine.begin(*queries);
      }
      engine.forward(state, *queries, blocks.block(step.computed), blocks.ranges(step.computed),
                     problem.softmax_scale);
      if (distance == comm.world_size() - 1) {
        q_place = {};
        Output part = engine.finish(std::move(state));
        slices.put(engine, whole.out, std::move(part.out), Side::kQuery, slice);
        slices.put(engine, whole.lse, std::move(part.lse), Side::kQuery, slice);
      }
    }
    exchange.wait();
    if (step.computed.some()) blocks.drop(step.computed);
  }
  return whole;
}

}  // namespace ringcraft
