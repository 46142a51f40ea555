#pragma once
// Where a rank computes: an engine, the communicator of its memory space, and the way there and back for
// tensors.

#include <memory>

#include "ringcraft/comm/communicator.hpp"
#include "ringcraft/engine/block_engine.hpp"
#include "tool/options.hpp"

namespace ringcraft::tool {

// One rank's place.
class Workplace {
 public:
  virtual ~Workplace() = default;
  virtual Communicator& comm() = 0;
  virtual BlockEngine& engine() = 0;
  // A host tensor, in the engine's memory space.
  virtual Buffer taken(Buffer host) = 0;
  // gather_to_first of a tensor in the engine's memory space.
  virtual void gather(Buffer& whole, const Buffer& shard, const Sharding& sharding) = 0;
};

// The place of the rank that has this communicator. Throws Error if the backend does not compute in this
// number type.
std::unique_ptr<Workplace> make_workplace(Backend backend, DType type, Communicator& host);

}  // namespace ringcraft::tool
