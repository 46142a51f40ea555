// Gathers shards on rank 0.
#include "ringcraft/parallel/rank_place.hpp"

#include <utility>

#include "ringcraft/comm/exchange.hpp"

namespace ringcraft {

Buffer gather_to_first(RankPlace& place, Buffer shard, const Sharding& sharding) {
  Communicator& comm = place.comm();
  if (comm.rank() != 0) {
    send(comm, 0, shard.bytes());
    return {};
  }
  Extents extents = shard.extents();
  extents.rows = sharding.seqlen;
  Buffer whole(extents, shard.dtype());
  gather(whole, place.on_host(std::move(shard)), sharding, 0);
  for (int rank = 1; rank < comm.world_size(); ++rank) {
    extents.rows = sharding.rows(rank);
    Buffer arriving = place.engine().allocate(extents, Role::kAccumulator);
    recv(comm, rank, arriving.bytes());
    gather(whole, place.on_host(std::move(arriving)), sharding, rank);
  }
  return whole;
}

}  // namespace ringcraft
