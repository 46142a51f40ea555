// Costs of a double ring: its messages are collected from the walks of all ranks, its memory is counted in closed form.
#include <algorithm>

#include "ringcraft/parallel/double_ring/double_ring.hpp"
#include "ringcraft/parallel/double_ring/node_walk.hpp"

namespace ringcraft {

Theory double_ring_theory(const Problem& problem, int node, Pass pass, RoleBytes bytes) {
  const bool backward = pass == Pass::kBackward;
  const auto element = static_cast<Index>(bytes.element), accumulator = static_cast<Index>(bytes.accumulator);
  const int turns = problem.world_size / node;
  const Shape& s = problem.shape;
  const Index largest = 2 * s.batch * s.kv_heads * problem.sharding().largest_rows() * s.head_dim;
  const Index ring = (std::min(node - 1, 2) + std::min(turns - 1, 2)) * largest;
  const Index sums = (4 + (node > 1 ? 1 : 0) + (turns > 1 ? 2 : 0)) * largest;
  Theory theory(problem.world_size);
  theory.steps = problem.world_size;
  for (int rank = 0; rank < problem.world_size; ++rank) {
    const auto r = static_cast<std::size_t>(rank);
    const NodeWalk walk(problem, node, rank);
    const auto sends = [&](bool leaves, int source, Index number) {
      const Index elements = leaves ? 2 * problem.kv_extents(source).elements() : 0;
      theory.bytes_sent[r] += elements * number;
      theory.messages_sent[r] += elements > 0 ? 2 : 0;
    };
    for (int turn = 0; turn < turns; ++turn) {
      if (turn + 1 < turns) sends(walk.leaves(turn), walk.entry(turn), element);
      if (backward && turns > 1) sends(walk.total_leaves(turn), walk.entry(turn), accumulator);
      for (int inner = 0; inner < node; ++inner) {
        const int source = walk.step(turn, inner).source;
        theory.pairs[r] += key_ranges(problem, rank, source).pairs();
        if (inner + 1 < node) sends(walk.goes_on(turn, inner), source, element);
        if (backward && node > 1) sends(walk.sum_leaves(turn, inner), source, accumulator);
      }
    }
    const Index q = problem.q_extents(rank).elements(), row = problem.row_extents(rank).elements(),
                kv = 2 * problem.kv_extents(rank).elements();
    theory.peak_bytes[r] = backward ? (2 * q + kv + ring) * element + (2 * q + 2 * row + sums) * accumulator
                                    : (q + kv + ring) * element + (q + 2 * row) * accumulator;
  }
  return theory;
}

}  // namespace ringcraft
