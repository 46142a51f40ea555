#pragma once
/// @file
/// The arguments of a ring's passes, allocated as a training step holds them and otherwise meaningless: for
/// runs whose traffic, memory or time is measured.

#include <utility>

#include "ringcraft/ring/refuse.hpp"
#include "ringcraft/ring/ring.hpp"
#include "ringcraft/ring/route.hpp"

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
/// left it; `own` is empty unless the rank keeps it.
struct BackwardArguments {
  BackwardArguments(BlockEngine& engine, const Problem& p, Schedule schedule, int rank)
      : q(engine.allocate(p.q_extents(rank), Role::kElement)),
        output{engine.allocate(p.q_extents(rank), Role::kAccumulator),
               engine.allocate(p.row_extents(rank), Role::kAccumulator)},
        dout(engine.allocate(p.q_extents(rank), Role::kElement)) {
    const Route route(p, rank, schedule);
    const auto own_block = [&] {
      return KvBlock{engine.allocate(p.kv_extents(rank), Role::kElement),
                     engine.allocate(p.kv_extents(rank), Role::kElement)};
    };
    if (route.keeps_own()) own = own_block();
    if (schedule == Schedule::kForward || route.exchanges() == 0) {
      first = own_block();
    } else {
      first = allocate_kv(engine, p, Role::kElement);
      first.set_rows(route.rows(0));
    }
  }
  Buffer q;
  KvBlock first, own;
  Output output;
  Buffer dout;
};

}  // namespace ringcraft::testing
