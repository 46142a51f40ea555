// Lesson 503: the groups of a grid, the walk of a double ring, and what leaves a node, counted message by
// message: 16 ranks on 4 nodes, in blocks (k and v of one rank).
#include <cstdio>

#include "ringcraft/parallel/double_ring/two_level_walk.hpp"
#include "ringcraft/parallel/hybrid/rank_grid.hpp"
#include "verify/ladder/subject.hpp"
#include "verify/oracle/cases.hpp"

using namespace ringcraft;
enum class Nodes : bool { kNeighbours, kEveryFourth };  // ranks 0 to 3 on one node, or ranks 0, 4, 8 and 12

void print(const std::vector<int>& ranks) {
  for (const int rank : ranks) std::printf(" %d", rank);
}

// Blocks that leave a node in one pass.
double leaving(const verify::PassCost& cost, Nodes nodes, const Problem& p) {
  Index bytes = 0;
  const auto node = [&](int rank) { return nodes == Nodes::kNeighbours ? rank / 4 : rank % 4; };
  for (int rank = 0; rank < 16; ++rank)
    for (const TraceEvent& event : cost.trace->rank(rank).events())
      for (const TracedMessage& message : event.messages)
        if (message.kind == Op::kSend && node(message.peer) != node(rank)) bytes += message.bytes.size;
  return static_cast<double>(bytes) / 4 / static_cast<double>(2 * 8 * p.kv_extents(0).elements());
}

void count(const char* name, const Method& method, MethodOptions options, Nodes nodes) {
  std::printf("%-22s", name);
  for (const Index kv_heads : {16, 4}) {
    const Problem p = make_problem({1, 16, kv_heads, 32, 64}, full_mask(), Layout::kContiguous, 16);
    const verify::Inputs inputs =
        make_inputs(verify::make_case(p, verify::Data::kNormal, 1), DType::kFloat64);
    verify::Measurement cost;
    run_over_ranks(p, inputs, {.options = options, .trace = true, .method = &method}, &cost);
    std::printf(" %6.2f %6.2f", leaving(cost.forward, nodes, p), leaving(cost.backward, nodes, p));
  }
  std::printf("\n");
}

int main() {
  std::printf("8 ranks, rows of 4: rank, row, column\n");
  for (int rank = 0; rank < 8; ++rank) {
    const GridGroups groups = grid_groups(8, 4, rank);
    std::printf("%2d  ", rank), print(groups.row), std::printf("  "), print(groups.column), std::printf("\n");
  }
  std::printf("\n6 ranks, nodes of 3: blocks of ranks 0 to 5 in each step\n");
  for (std::size_t step = 0; step < 6; ++step, std::printf("\n"))
    for (int rank = 0; rank < 6; ++rank) print({two_level_walk(6, 3, rank)[step].source});
  std::printf("\nrank 4 of them: block, inner to and from, outer to and from\n");
  for (const auto& [block, to, from, outer_to, outer_from] : two_level_walk(6, 3, 4))
    print({block, to, from, outer_to, outer_from}), std::printf("\n");
  std::printf("\nblocks out of a node: 16 KV heads, forward and backward; 4 KV heads, likewise\n");
  count("ring", kRing, {}, Nodes::kNeighbours);
  count("all-gather", kAllGather, {}, Nodes::kNeighbours);
  count("double-ring", kDoubleRing, {.node = 4}, Nodes::kNeighbours);
  count("hybrid, head-first", kHybrid, {.ulysses = 4}, Nodes::kNeighbours);
  count("hybrid, context-first", kHybrid, {.ulysses = 4}, Nodes::kEveryFourth);
  count("ulysses", kUlysses, {}, Nodes::kNeighbours);
}
