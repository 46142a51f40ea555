// The forward pass of a double ring.
#include <utility>

#include "ringcraft/parallel/double_ring/double_ring.hpp"
#include "ringcraft/parallel/double_ring/node_walk.hpp"
#include "ringcraft/parallel/double_ring/walking_blocks.hpp"

namespace ringcraft {

Output double_ring_forward(Communicator& comm, BlockEngine& engine, const Problem& problem, int node,
                           const Buffer& q, const KvBlock& kv) {
  const NodeWalk walk(problem, node, comm.rank());
  WalkingBlocks blocks(comm, engine, problem, walk, kv);
  RowState state = engine.begin(q);
  for (int turn = 0; turn < walk.turns(); ++turn) {
    Pending outer = blocks.start_outer(turn);
    for (int inner = 0; inner < walk.inner_steps(); ++inner) {
      Pending exchange = blocks.start_inner(turn, inner);
      if (walk.here(turn, inner))
        engine.forward(state, q, blocks.current(),
                       key_ranges(problem, comm.rank(), walk.step(turn, inner).source),
                       problem.softmax_scale);
      exchange.wait();
      blocks.step_on(inner);
    }
    outer.wait();
    blocks.turn_on(turn);
  }
  return engine.finish(std::move(state));
}

}  // namespace ringcraft
