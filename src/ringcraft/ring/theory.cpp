// Closed forms of the ring's cost.
#include "ringcraft/ring/theory.hpp"

#include <algorithm>
#include <string>

#include "ringcraft/comm/collectives.hpp"
#include "ringcraft/core/error.hpp"
#include "ringcraft/ring/messages.hpp"
#include "ringcraft/ring/route.hpp"
#include "ringcraft/ring/work.hpp"

namespace ringcraft {
namespace {

int modulo(int r, int n) { return (r % n + n) % n; }

// Elements of the tensors of a shard of `rows` rows.
struct ShardElements {
  ShardElements(const Shape& s, Index rows)
      : q(s.batch * s.heads * rows * s.head_dim),
        kv(2 * s.batch * s.kv_heads * rows * s.head_dim),
        row(s.batch * s.heads * rows) {}
  Index q;    // q, out, dout or dq
  Index kv;   // k and v, or dk and dv, together
  Index row;  // one number per query row
};

ShardElements of_rank(const Problem& problem, int rank) {
  return {problem.shape, problem.sharding().rows(modulo(rank, problem.world_size))};
}

ShardElements largest(const Problem& problem) { return {problem.shape, problem.sharding().largest_rows()}; }

Theory common(const Problem& problem, Pass pass, Schedule schedule, RoleBytes bytes) {
  Theory theory(problem.world_size);
  for (const RingTransfer& transfer : ring_messages(problem, pass, schedule)) {
    const auto from = static_cast<std::size_t>(transfer.from);
    theory.bytes_sent[from] += bytes_of(transfer, bytes);
    theory.messages_sent[from] += 2;
  }
  theory.steps = hops(problem) + 1;
  theory.pairs = ring_work(problem).by_rank;
  return theory;
}

}  // namespace

int dkv_exchanges(const Problem& problem, Schedule schedule) {
  const int c = hops(problem);
  return schedule == Schedule::kReversed || c == 0 ? c : c + 1;
}

Theory forward_theory(const Problem& problem, RoleBytes bytes) {
  const auto element = static_cast<Index>(bytes.element), accumulator = static_cast<Index>(bytes.accumulator);
  Theory theory = common(problem, Pass::kForward, Schedule::kForward, bytes);
  const Index c = hops(problem), ring = std::min<Index>(c, 2) * largest(problem).kv;
  for (int rank = 0; rank < problem.world_size; ++rank) {
    const auto r = static_cast<std::size_t>(rank);
    const ShardElements own = of_rank(problem, rank);
    theory.peak_bytes[r] = (own.q + own.kv + ring) * element + (own.q + 2 * own.row) * accumulator;
  }
  return theory;
}

Theory backward_theory(const Problem& problem, Schedule schedule, RoleBytes bytes) {
  const auto element = static_cast<Index>(bytes.element), accumulator = static_cast<Index>(bytes.accumulator);
  const bool reversed = schedule == Schedule::kReversed;
  Theory theory = common(problem, Pass::kBackward, schedule, bytes);
  const int c = hops(problem);
  const Index ring = std::min<Index>(c, 2) * largest(problem).kv;
  for (int rank = 0; rank < problem.world_size; ++rank) {
    const ShardElements own = of_rank(problem, rank);
    const Route route(problem, rank, schedule);
    const Index first = (reversed && c > 0 ? largest(problem).kv : own.kv) + (route.keeps_own() ? own.kv : 0);
    const Index gradients = ((c == 0 ? 1 : 3) + (route.waits_at_home() ? 1 : 0)) * largest(problem).kv;
    theory.peak_bytes[static_cast<std::size_t>(rank)] =
        (2 * own.q + first + ring) * element + (2 * own.q + 2 * own.row + gradients) * accumulator;
  }
  return theory;
}

Index peak_elements(const Problem& problem, Pass pass) {
  if (problem.shape.seqlen % problem.world_size != 0)
    throw Error(
        "peak_elements", "a seqlen that " + std::to_string(problem.world_size) + " ranks divide evenly",
        std::to_string(problem.shape.seqlen), "use forward_theory or backward_theory for ragged shards");
  const ShardElements s = largest(problem);
  const Index c = hops(problem), blocks = s.kv * (1 + std::min<Index>(c, 2));
  if (pass == Pass::kForward) return 2 * s.q + 2 * s.row + blocks;
  const auto reach = shared_reaches(problem);
  const bool kept = *std::min_element(reach->begin(), reach->end()) < c;  // a block, or the sum of one
  return 4 * s.q + 2 * s.row + blocks + s.kv * ((c == 0 ? 1 : 3) + (kept ? 1 : 0));
}

double forward_time(int hops, StepTime time) {
  return time.compute + hops * std::max(time.compute, time.kv_transfer);
}

double backward_time(int hops, Schedule schedule, StepTime time) {
  if (!(std::max(time.kv_transfer, time.dkv_transfer) <= time.compute))
    throw Error(
        "backward_time",
        "transfers that take at most as long as the computation (" + std::to_string(time.compute) + " s)",
        std::to_string(std::max(time.kv_transfer, time.dkv_transfer)) + " s",
        "use ring_clocks (ring/clocks.hpp), which holds for any times");
  const double exposed = schedule == Schedule::kForward && hops > 0 ? time.dkv_transfer : 0;
  return (hops + 1) * time.compute + exposed;
}

}  // namespace ringcraft
