// Gathers KV blocks along a schedule.
#include "ringcraft/parallel/gather/gather_blocks.hpp"

namespace ringcraft {

GatherBlocks::GatherBlocks(Communicator& comm, BlockEngine& engine, const Problem& problem,
                           const HeadSlices& slices, const KvBlock& own)
    : comm_(comm), engine_(engine), problem_(problem), slices_(slices), whole_(own) {
  for (auto& blocks : blocks_) blocks.resize(static_cast<std::size_t>(problem.world_size));
}

bool GatherBlocks::sees(int rank, int source) const { return key_ranges(problem_, rank, source).any(); }

const KvBlock& GatherBlocks::own(int slice) {
  if (slices_.count() == 1) return whole_;
  KvBlock& mine = own_[slice % 2];
  if (owned_[slice % 2] != slice) {
    slices_.taken(engine_, whole_.k, Side::kKv, slice, Role::kElement, mine.k);
    slices_.taken(engine_, whole_.v, Side::kKv, slice, Role::kElement, mine.v);
    owned_[slice % 2] = slice;
  }
  return mine;
}

Pending GatherBlocks::start(const GatherStep& step) {
  const auto [slice, distance] = step.exchanged;
  if (!step.exchanged.some()) return {};
  const int to = target(distance), from = source(distance);
  const KvBlock nothing;
  const KvBlock& leaving = sees(to, comm_.rank()) ? own(slice) : nothing;
  KvBlock& arriving = blocks_[slice % 2][static_cast<std::size_t>(distance)];
  if (sees(comm_.rank(), from)) {
    const Extents e = slices_.of(problem_.kv_extents(from), Side::kKv);
    arriving = {engine_.allocate(e, Role::kElement), engine_.allocate(e, Role::kElement)};
  }
  return comm_.start({send_to(to, leaving.k), send_to(to, leaving.v),  //
                      recv_from(from, arriving.k), recv_from(from, arriving.v)});
}

const KvBlock& GatherBlocks::block(const GatheredBlock& which) {
  if (which.distance == 0) return own(which.slice);
  return blocks_[which.slice % 2][static_cast<std::size_t>(which.distance)];
}

BlockRanges GatherBlocks::ranges(const GatheredBlock& which) const {
  return key_ranges(problem_, comm_.rank(), source(which.distance));
}

void GatherBlocks::drop(const GatheredBlock& which) {
  if (which.distance > 0) {
    blocks_[which.slice % 2][static_cast<std::size_t>(which.distance)] = {};
  } else if (slices_.count() > 1) {
    own_[which.slice % 2] = {};
    owned_[which.slice % 2] = -1;
  }
}

}  // namespace ringcraft
