// How shards come together (see workplace.hpp).
#include "tool/ranks/workplace.hpp"

#include "ringcraft/comm/exchange.hpp"

namespace ringcraft::tool {

void Workplace::gather_to_first(Buffer& whole, const Buffer& shard, const Sharding& sharding) {
  if (comm().rank() != 0) return send(comm(), 0, shard.bytes());
  put(whole, shard, sharding, 0);
  Extents extents = whole.extents();
  for (int rank = 1; rank < comm().world_size(); ++rank) {
    extents.rows = sharding.rows(rank);
    Buffer arriving(extents, whole.dtype(), memory());
    recv(comm(), rank, arriving.bytes());
    put(whole, arriving, sharding, rank);
  }
}

}  // namespace ringcraft::tool
