#pragma once
/// @file
/// Theory: the expected cost of one pass of a method over ranks, computed from the problem alone. The closed
/// forms of a method are defined next to it (ring/theory.hpp has the ring's) and compared with measured
/// figures; if shards differ in length, both are exact per rank.

#include <cstddef>
#include <span>
#include <vector>

#include "ringcraft/engine/block_engine.hpp"

namespace ringcraft {

/// Bytes of one number of each role. With {1, 1} all figures in bytes become figures in elements.
struct RoleBytes {
  std::size_t element;      ///< q, k, v, dout and the KV blocks that travel
  std::size_t accumulator;  ///< O (which becomes out), m, l, lse, delta, dq, dk, dv
};

/// The bytes of this engine's roles.
RoleBytes role_bytes(const BlockEngine& engine);

/// The share that queries of this tensor have in the cost of `heads` heads, all batch entries together; 1 if
/// `heads` is 0.
double share_of_heads(const Buffer& q, Index heads);

/// The figures of one pass. Vectors have one entry per rank.
struct Theory {
  /// Nothing sent, held or computed yet.
  explicit Theory(int world_size);

  int steps = 1;                     ///< turns of exchange and compute
  std::vector<Index> bytes_sent;     ///< of all messages
  std::vector<Index> messages_sent;  ///< empty ones do not count
  std::vector<Index> peak_bytes;     ///< live buffers at once, the pass's own arguments included
  std::vector<Index> pairs;          ///< visible (query, key) pairs that the rank computes, as Work counts
  double heads = 1;                  ///< share of the heads that a pair stands for

  /// 1 - mean / max of the pairs.
  double imbalance() const;
};

/// 1 - mean / max of the ranks' pairs: the share of the time in which they wait for the busiest; 0 if there
/// is no pair.
double imbalance(std::span<const Index> pairs);

}  // namespace ringcraft
