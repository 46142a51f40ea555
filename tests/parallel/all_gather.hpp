#pragma once
/// @file
/// A second method, whole: every rank receives the KV blocks of all others, computes alone, and sends each
/// block's gradients home. No other file mentions it.

#include <utility>
#include <vector>

#include "ringcraft/parallel/method.hpp"

namespace ringcraft::testing {

struct AllGathered {
  Buffer q;
  std::vector<KvBlock> blocks;  // by rank
};

// A KV block for every rank, as large as its shard.
inline std::vector<KvBlock> blocks_of(BlockEngine& engine, const Problem& problem, Role role) {
  std::vector<KvBlock> blocks;
  for (int rank = 0; rank < problem.world_size; ++rank)
    blocks.push_back(
        {engine.allocate(problem.kv_extents(rank), role), engine.allocate(problem.kv_extents(rank), role)});
  return blocks;
}

inline Forward all_gather_forward(RankPlace& place, const Problem& problem, const MethodOptions&, Buffer q,
                                  KvBlock kv) {
  const int rank = place.comm().rank();
  std::vector<KvBlock> blocks = blocks_of(place.engine(), problem, Role::kElement);
  blocks[static_cast<std::size_t>(rank)] = std::move(kv);
  const KvBlock& own = blocks[static_cast<std::size_t>(rank)];
  std::vector<Op> ops;
  for (int peer = 0; peer < problem.world_size; ++peer) {
    if (peer == rank) continue;
    KvBlock& theirs = blocks[static_cast<std::size_t>(peer)];
    ops.insert(ops.end(), {send_to(peer, own.k), send_to(peer, own.v), recv_from(peer, theirs.k),
                           recv_from(peer, theirs.v)});
  }
  place.comm().start(ops).wait();
  RowState state = place.engine().begin(q);
  for (int source = 0; source < problem.world_size; ++source)
    place.engine().forward(state, q, blocks[static_cast<std::size_t>(source)],
                           key_ranges(problem, rank, source), problem.softmax_scale);
  AllGathered saved{std::move(q), std::move(blocks)};
  return {place.engine().finish(std::move(state)), std::make_shared<AllGathered>(std::move(saved))};
}

inline Gradients all_gather_backward(RankPlace& place, const Problem& problem, const MethodOptions&,
                                     const Forward& forward, const Buffer& dout) {
  const auto& [q, blocks] = *static_cast<const AllGathered*>(forward.saved.get());
  const auto& [out, lse] = forward.output;
  BlockEngine& engine = place.engine();
  const int rank = place.comm().rank();
  const Buffer delta = engine.delta(out, dout);
  Buffer dq = engine.allocate(q.extents(), Role::kAccumulator);
  engine.set_zero(dq);
  std::vector<KvBlock> parts = blocks_of(engine, problem, Role::kAccumulator), arriving;
  std::vector<Op> ops;
  for (int source = 0; source < problem.world_size; ++source) {
    KvBlock& part = parts[static_cast<std::size_t>(source)];
    engine.backward(dq, part, {q, out, lse, dout, delta}, blocks[static_cast<std::size_t>(source)],
                    key_ranges(problem, rank, source), problem.softmax_scale);
    arriving.push_back({engine.allocate(problem.kv_extents(rank), Role::kAccumulator),
                        engine.allocate(problem.kv_extents(rank), Role::kAccumulator)});
    if (source == rank) continue;
    ops.insert(ops.end(), {send_to(source, part.k), send_to(source, part.v),
                           recv_from(source, arriving.back().k), recv_from(source, arriving.back().v)});
  }
  place.comm().start(ops).wait();
  KvBlock dkv = std::move(parts[static_cast<std::size_t>(rank)]);
  for (int peer = 0; peer < problem.world_size; ++peer)
    if (peer != rank) engine.add(dkv, arriving[static_cast<std::size_t>(peer)]);
  return {std::move(dq), std::move(dkv)};
}

inline Theory all_gather_theory(const Problem& problem, const MethodOptions&, Pass pass, RoleBytes bytes) {
  const int n = problem.world_size;
  Theory theory(n);
  for (int rank = 0; rank < n; ++rank)
    for (int peer = 0; peer < n; ++peer) {
      const auto r = static_cast<std::size_t>(rank);
      theory.pairs[r] += key_ranges(problem, rank, peer).pairs();
      if (peer == rank) continue;  // to the others the own block goes forward, and theirs backward
      const Index block = 2 * problem.kv_extents(pass == Pass::kForward ? rank : peer).elements();
      theory.bytes_sent[r] +=
          block * static_cast<Index>(pass == Pass::kForward ? bytes.element : bytes.accumulator);
      theory.messages_sent[r] += block > 0 ? 2 : 0;
    }
  return theory;
}

inline constexpr Method kAllGather{"all-gather", nullptr, all_gather_forward, all_gather_backward,
                                   all_gather_theory};

}  // namespace ringcraft::testing
