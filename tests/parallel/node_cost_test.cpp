// Elements that a hybrid and a double ring send and hold, worked out by hand. 64 rows on each rank, 16
// numbers per head, 8 query heads: Q = 8192 numbers, and L = 512 of lse.
#include "ringcraft/parallel/method.hpp"
#include "support/catch.hpp"

using namespace ringcraft;

namespace {

struct NodeCost {
  Index kv_heads;
  int ranks, node;  // or the ranks of a row
  Pass pass;
  Index sent, messages, peak;
};

void check_by_hand(const Method& method, const MethodOptions& options, const NodeCost& want) {
  CAPTURE(want.kv_heads, want.ranks, want.node, want.pass == Pass::kForward);
  // A zig-zag shows every rank some key of every other one.
  const Problem problem = make_problem({1, 8, want.kv_heads, Position{64} * want.ranks, 16}, causal_mask(),
                                       Layout::kZigzag, want.ranks);
  const Theory theory = method.theory(problem, options, want.pass, {1, 1});
  for (std::size_t rank = 0; rank < theory.bytes_sent.size(); ++rank) {
    CHECK(theory.bytes_sent[rank] == want.sent);
    CHECK(theory.messages_sent[rank] == want.messages);
    CHECK(theory.peak_bytes[rank] == want.peak);
  }
}

}  // namespace

TEST_CASE("a double ring sends N - 1 blocks, and N + G sums of gradients to G nodes") {
  // k and v: a block has B = 4096.
  const NodeCost by_hand[] = {
      // 8 B; q, out, max and sum, and 5 blocks: 2 Q + 2 L + 5 B.
      {2, 9, 3, Pass::kForward, 32768, 16, 37888},
      // 8 B + 12 B; 4 Q + 2 L, 5 blocks and 7 sums.
      {2, 9, 3, Pass::kBackward, 81920, 40, 82944},
      // 7 B + 10 B; of two nodes a single block is under way between them, so 4 blocks and 7 sums.
      {2, 8, 4, Pass::kBackward, 69632, 34, 78848},
      // One rank a node, a ring: 5 B + 6 B; 3 blocks and 6 sums.
      {2, 6, 1, Pass::kBackward, 45056, 22, 70656},
  };
  for (const NodeCost& want : by_hand) check_by_hand(kDoubleRing, {.node = want.node}, want);
}

TEST_CASE("a hybrid sends the parcels of Ulysses, and the blocks of a ring of rows") {
  const NodeCost by_hand[] = {
      // A block of a row has D = 2 Q: 3/4 of 4 Q + L, and D; in the ring 2 Q + 2 L and 2 D.
      {8, 8, 4, Pass::kForward, 41344, 17, 50176},
      // 3/4 of 4 Q, and 2 D; in the ring 6 Q + 3 L, 2 D and 3 sums as large.
      {8, 8, 4, Pass::kBackward, 57344, 16, 132608},
      // Each KV head for two ranks of a row, so D = Q: 3/4 of 3 Q + L, and 2 D; in the ring 3 blocks.
      {2, 12, 4, Pass::kForward, 35200, 19, 41984},
      // 3/4 of 3 Q, and 4 D; in the ring 6 Q + 3 L and 6 D.
      {2, 12, 4, Pass::kBackward, 51200, 20, 99840},
  };
  for (const NodeCost& want : by_hand) check_by_hand(kHybrid, {.ulysses = want.node}, want);
}
