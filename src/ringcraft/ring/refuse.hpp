#pragma once
/// @file
/// The one place where a distributed call is validated. It uses only what every rank knows, so all ranks
/// refuse the same call with the same words, before the first message; nothing is ever silently ignored. Each
/// method adds its own limits (parallel/method.hpp).

#include <string_view>

#include "ringcraft/comm/communicator.hpp"
#include "ringcraft/engine/block_engine.hpp"
#include "ringcraft/ring/ring.hpp"

namespace ringcraft {

/// The name as the command line spells it.
std::string_view name_of(Schedule schedule);

/// Throws Error unless the problem is valid, and this communicator and engine can do this pass of it.
void refuse(const Problem& problem, Pass pass, const Communicator& comm, const BlockEngine& engine);

/// Throws Error unless q and kv are this rank's shards, of the engine's element type and space.
void require_shard(const Problem& problem, int rank, const BlockEngine& engine, const Buffer& q,
                   const KvBlock& kv);

/// The same for the arguments of the backward pass; `first` is the block that the schedule starts with, and
/// may be empty where that is not read; so may `own`.
void require_shard(const Problem& problem, int rank, const BlockEngine& engine, const Buffer& q,
                   const KvBlock& first, const KvBlock& own, Schedule schedule, const Output& output,
                   const Buffer& dout);

/// The same for dout alone.
void require_dout(const Problem& problem, int rank, const BlockEngine& engine, const Buffer& dout);

/// A KV block (or its gradients) that can hold the largest shard of the problem; set_rows fits it to one.
KvBlock allocate_kv(BlockEngine& engine, const Problem& problem, Role role);

}  // namespace ringcraft
