#pragma once
/// @file
/// The loop over batch entries and heads, with the KV head that serves each query head (grouped-query
/// attention), for all code around the exercises. Lesson 107 (grouped.cpp) writes the loop out.

#include "ringcraft/core/types.hpp"

namespace ringcraft {

/// Calls body(batch, head, kv_head) for every query head of q: the heads [g * group, (g + 1) * group) share
/// KV head g.
template <class Body>
void for_each_head(const Extents& q, Index kv_heads, Body body) {
  const Index group = q.heads / kv_heads;
  for (Index batch = 0; batch < q.batch; ++batch)
    for (Index head = 0; head < q.heads; ++head) body(batch, head, head / group);
}

}  // namespace ringcraft
