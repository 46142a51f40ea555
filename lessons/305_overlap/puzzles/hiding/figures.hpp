#pragma once
/// @file
/// The figures of one ring of 305.hiding, and what the library makes of them: bytes, times, and the shortest
/// shard whose hop hides.

#include <cmath>

#include "ringcraft/problem/reach.hpp"
#include "ringcraft/ring/theory.hpp"
#include "ringcraft/ring/timed_ring.hpp"

namespace ringcraft::judge {

inline constexpr Index kWholeTokens = 64;  ///< shards are a multiple of these

/// One model on one machine.
struct RingFigures {
  double flops, beta, alpha;  ///< per second; bytes per second in one direction; seconds of a message
  int ranks;
  Index heads, kv_heads, head_dim;
  RoleBytes bytes;
  bool causal;                  ///< and then zig-zag
  Index tokens = kWholeTokens;  ///< of a rank
  Pass pass = Pass::kForward;
  Schedule schedule = Schedule::kForward;

  Problem problem() const {
    return make_problem({1, heads, kv_heads, ranks * tokens, head_dim}, causal ? causal_mask() : full_mask(),
                        causal ? Layout::kZigzag : Layout::kContiguous, ranks);
  }
  /// Two products of 2 FLOP forward, five backward, for each pair and each number of its rows.
  TimedRing costs() const {
    const double per_pair = (pass == Pass::kForward ? 4.0 : 10.0) * static_cast<double>(heads * head_dim);
    return timed_ring(problem(), pass, schedule, bytes, {.per_pair = per_pair / flops},
                      {.alpha = alpha, .beta = beta});
  }
  /// The same ring with so many tokens on each rank.
  RingFigures with(Index rows) const {
    RingFigures changed = *this;
    changed.tokens = rows;
    return changed;
  }
};

inline double hop_bytes(const RingFigures& ring) {
  const Problem problem = ring.problem();
  return static_cast<double>(forward_theory(problem, ring.bytes).bytes_sent[0] / hops(problem));
}

/// Of a block that arrived: all of them are alike.
inline double block_seconds(const RingFigures& ring) { return ring.costs().computing[1][0]; }
inline double hop_seconds(const RingFigures& ring) { return ring.costs().transfers[0].seconds; }
inline double exposed_seconds(const RingFigures& ring) { return ring_clocks(ring.costs()).exposed[0]; }
inline bool hides(const RingFigures& ring) { return hop_seconds(ring) <= block_seconds(ring); }

/// Computing grows with the square of a shard's tokens, bytes with the tokens: a short shard shows both.
inline double least_tokens(const RingFigures& ring) {
  const RingFigures small = ring.with(kWholeTokens);
  const double tokens = static_cast<double>(kWholeTokens);
  const double square = block_seconds(small) / (tokens * tokens);
  const double each = (hop_seconds(small) - ring.alpha) / tokens;
  return (each + std::sqrt(each * each + 4 * square * ring.alpha)) / (2 * square);
}

}  // namespace ringcraft::judge
