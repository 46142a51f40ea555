#pragma once
/// @file
/// The arguments of a ring's passes, allocated as a training step holds them and otherwise meaningless: for
/// runs whose traffic, memory or time is measured.

#include <utility>

#include "ringcraft/ring/refuse.hpp"
#include "ringcraft/ring/ring.hpp"

namespace ringcraft::testing {

/// q, k, v of a rank.
struct ForwardArguments {
  ForwardArguments(BlockEngine& engine, const Problem& p, int rank)
      : q(engine.allocate(p.q_extents(rank), Role::kElement)),
        kv{engine.allocate(p.kv_extents(rank), Role::kElement),
           engine.allocate(p.kv_extents(rank), Role::kElement)} {}
  Buffer q;
  KvBlock kv;
};

/// Inputs of a rank's backward pass. `first` of the reversed schedule is a ring buffer, as the forward pass
/// left it.
struct BackwardArguments {
  BackwardArguments(BlockEngine& engine, const Problem& p, Schedule schedule, int rank)
      : q(engine.allocate(p.q_extents(rank), Role::kElement)),
        output{engine.allocate(p.q_extents(rank), Role::kAccumulator),
               engine.allocate(p.row_extents(rank), Role::kAccumulator)},
        dout(engine.allocate(p.q_extents(rank), Role::kElement)) {
    const int back = schedule == Schedule::kReversed ? hops(p) : 0;
    if (back == 0) {
      first = {engine.allocate(p.kv_extents(rank), Role::kElement),
               engine.allocate(p.kv_extents(rank), Role::kElement)};
    } else {
      first = allocate_kv(engine, p, Role::kElement);
      first.set_rows(p.sharding().rows((rank - back + p.world_size) % p.world_size));
    }
  }
  Buffer q;
  KvBlock first;
  Output output;
  Buffer dout;
};

}  // namespace ringcraft::testing
