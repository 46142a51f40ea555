#pragma once
/// @file
/// RankPlace: where one rank computes. A communicator, an engine, and the ways to and from the memory that
/// both share: all that a method needs to know of threads, MPI jobs, virtual ranks on one GPU or NCCL.

#include "ringcraft/comm/communicator.hpp"
#include "ringcraft/engine/block_engine.hpp"
#include "ringcraft/problem/layout.hpp"

namespace ringcraft {

/// One rank's place. It owns nothing, and lives as long as the rank runs.
class RankPlace {
 public:
  /// Both outlive this, and use one memory space; `trace` records the rank's actions in its passes (null:
  /// nothing is recorded).
  RankPlace(Communicator& comm, BlockEngine& engine, RankTrace* trace = nullptr)
      : comm_(comm), engine_(engine), trace_(trace) {}
  virtual ~RankPlace() = default;
  RankPlace(const RankPlace&) = delete;
  RankPlace& operator=(const RankPlace&) = delete;

  /// How the rank reaches the others.
  Communicator& comm() const { return comm_; }
  /// The engine that it computes with.
  BlockEngine& engine() const { return engine_; }
  /// The trace of its passes, or null.
  RankTrace* trace() const { return trace_; }

  /// A host tensor, in the engine's memory.
  virtual Buffer taken(Buffer host) = 0;
  /// A tensor of the engine's memory, on the host.
  virtual Buffer on_host(Buffer tensor) = 0;

 private:
  Communicator& comm_;
  BlockEngine& engine_;
  RankTrace* trace_;
};

/// A place in host memory: tensors need no copies.
class HostPlace final : public RankPlace {
 public:
  using RankPlace::RankPlace;
  Buffer taken(Buffer host) override { return host; }
  Buffer on_host(Buffer tensor) override { return tensor; }
};

/// All ranks call this with their shard of one accumulator tensor, in their engine's memory. Rank 0 gets the
/// whole, [batch, heads, seqlen, width], on the host; the others send theirs and get an empty Buffer.
Buffer gather_to_first(RankPlace& place, Buffer shard, const Sharding& sharding);

}  // namespace ringcraft
