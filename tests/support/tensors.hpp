#pragma once
/// @file
/// Random inputs of attention, whole or as one rank's shard.

#include "ringcraft/core/random.hpp"
#include "ringcraft/engine/block_engine.hpp"
#include "ringcraft/problem/problem.hpp"

namespace ringcraft::testing {

/// q, k, v and the upstream gradient dout of a whole problem.
struct Tensors {
  Buffer q;
  KvBlock kv;
  Buffer dout;
};

/// Independent normal numbers; dout as well, never all ones. q and k times `deviation`: scores grow with its
/// square.
inline Tensors random_tensors(const Shape& s, DType type, Random& random, double deviation = 1.0) {
  const Extents q{s.batch, s.heads, s.seqlen, s.head_dim}, kv{s.batch, s.kv_heads, s.seqlen, s.head_dim};
  Buffer queries = random_normal(q, type, random, deviation),
         keys = random_normal(kv, type, random, deviation);
  Buffer values = random_normal(kv, type, random), dout = random_normal(q, type, random);
  return {std::move(queries), {std::move(keys), std::move(values)}, std::move(dout)};
}

inline KvBlock clone(const KvBlock& kv) { return {kv.k.clone(), kv.v.clone()}; }
inline Output clone(const Output& output) { return {output.out.clone(), output.lse.clone()}; }

/// A rank's shard of the tensors.
inline Tensors shard_of(const Tensors& whole, const Problem& problem, int rank) {
  const Sharding sharding = problem.sharding();
  return {scatter(whole.q, sharding, rank),
          {scatter(whole.kv.k, sharding, rank), scatter(whole.kv.v, sharding, rank)},
          scatter(whole.dout, sharding, rank)};
}

}  // namespace ringcraft::testing
