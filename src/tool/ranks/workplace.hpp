#pragma once
// Where a rank computes: an engine, the communicator of its memory space, and the way there and back for
// tensors.

#include "ringcraft/comm/communicator.hpp"
#include "ringcraft/engine/block_engine.hpp"
#include "ringcraft/problem/layout.hpp"

namespace ringcraft::tool {

// One rank's place.
class Workplace {
 public:
  virtual ~Workplace() = default;
  virtual Communicator& comm() = 0;
  virtual BlockEngine& engine() = 0;
  // A host tensor, in the engine's memory space.
  virtual Buffer taken(Buffer host) = 0;
  // Sends this rank's shard, in the engine's memory space, to rank 0, which puts all of them into `whole`
  // (on the host, [batch, heads, seqlen, width]; used on rank 0 only).
  void gather_to_first(Buffer& whole, const Buffer& shard, const Sharding& sharding);

 private:
  // Where the engine's tensors lie.
  virtual const Memory& memory() const = 0;
  // Puts a rank's shard into its rows of `whole`.
  virtual void put(Buffer& whole, const Buffer& shard, const Sharding& sharding, int rank) = 0;
};

}  // namespace ringcraft::tool
