#pragma once
/// @file
/// Costs of a pass on one device: measured as for a ring's pass, and the memory that theory requires.

#include <chrono>

#include "ringcraft/engine/theory.hpp"
#include "verify/ladder/subject.hpp"

namespace ringcraft::verify {

/// Elements of a query-side tensor.
inline Index q_elements(const Shape& s) { return s.batch * s.heads * s.seqlen * s.head_dim; }
/// Elements of a KV-side tensor.
inline Index kv_elements(const Shape& s) { return s.batch * s.kv_heads * s.seqlen * s.head_dim; }
/// One number per row.
inline Index row_elements(const Shape& s) { return s.batch * s.heads * s.seqlen; }

/// Bytes of so many numbers of each role.
inline Index bytes_of(RoleBytes bytes, Index elements, Index accumulators) {
  return static_cast<Index>(bytes.element) * elements + static_cast<Index>(bytes.accumulator) * accumulators;
}

/// Bytes of the tensors that blockwise attention needs at least. Forward q, k, v, O, m, l; backward q, k, v,
/// dout, out, dq, dk, dv, lse, delta.
inline Index blockwise_peak(const Shape& s, bool backward, RoleBytes bytes) {
  const Index q = q_elements(s), kv = kv_elements(s), rows = row_elements(s);
  return backward ? bytes_of(bytes, 2 * q + 2 * kv, 2 * q + 2 * kv + 2 * rows)
                  : bytes_of(bytes, q + 2 * kv, q + 2 * rows);
}

/// Runs `body` and fills in its peak bytes (of buffers made under this meter, including those of an earlier
/// pass), its seconds, and the given number of visible pairs.
template <class Body>
void measure(PassCost& cost, const std::shared_ptr<MemoryMeter>& meter, Index pairs, Body body) {
  const MeterScope scope(meter);
  const auto start = std::chrono::steady_clock::now();
  body();
  const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
  cost = {{Traffic{}}, {meter->peak()}, {Work{pairs, pairs > 0 ? 1 : 0}}, {0.0}, spent.count()};
}

}  // namespace ringcraft::verify
