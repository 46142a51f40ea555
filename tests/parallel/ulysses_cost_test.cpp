// The closed forms of lesson 502, worked out by hand: what an all-to-all between rows and heads moves, and
// what a rank holds at the most, in elements.
#include "ringcraft/parallel/method.hpp"
#include "support/catch.hpp"

using namespace ringcraft;

namespace {

struct UlyssesCost {
  Index heads, kv_heads;
  int ranks;
  Pass pass;
  Index sent, messages, peak;  // peak 0: not asked
};

}  // namespace

TEST_CASE("Ulysses moves 4 (N - 1) / N c H d elements, and holds 5 Q and some parcels") {
  // 64 rows on each rank, 16 numbers per head.
  const UlyssesCost by_hand[] = {
      // Q = 8192, L = 512: three quarters of 4 Q + L; 5 Q + 4 Q / 4.
      {8, 8, 4, Pass::kForward, 24960, 15, 49152},
      // dout, dq, dk and dv: three quarters of 4 Q.
      {8, 8, 4, Pass::kBackward, 24576, 12, 0},
      // k and v have as many heads as there are ranks, 4: three quarters of 2 Q + 2 Q / 2 + L.
      {8, 2, 4, Pass::kForward, 18816, 15, 0},
      // Seven eighths of 4 Q + L; 5 Q + 4 Q / 8.
      {8, 8, 8, Pass::kForward, 29120, 35, 45056},
      // Q = 16384, L = 1024: fifteen sixteenths of 4 Q + L; 5 Q + 2 L + 2 (Q + L) / 16, more than 5 Q + Q
      // / 4.
      {16, 16, 16, Pass::kForward, 62400, 75, 86144},
  };
  for (const UlyssesCost& want : by_hand) {
    CAPTURE(want.heads, want.kv_heads, want.ranks, want.pass == Pass::kForward);
    const Problem problem = make_problem({1, want.heads, want.kv_heads, Position{64} * want.ranks, 16},
                                         full_mask(), Layout::kContiguous, want.ranks);
    const Theory theory = kUlysses.theory(problem, {}, want.pass, {1, 1});
    for (std::size_t rank = 0; rank < theory.bytes_sent.size(); ++rank) {
      CHECK(theory.bytes_sent[rank] == want.sent);
      CHECK(theory.messages_sent[rank] == want.messages);
      if (want.peak != 0) CHECK(theory.peak_bytes[rank] == want.peak);
    }
  }
}
