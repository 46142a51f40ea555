// Blocks of a ring or of one device (see arrangement.hpp).
#include "verify/diagnose/twisted/arrangement.hpp"

#include <algorithm>

#include "ringcraft/core/shown.hpp"

namespace ringcraft::verify {
namespace {

// Fills what follows from the blocks.
Arrangement completed(Arrangement a, Position seqlen) {
  a.owner.resize(static_cast<std::size_t>(seqlen));
  a.local.resize(static_cast<std::size_t>(seqlen));
  for (int block = 0; block < a.count(); ++block) {
    a.offset.push_back(static_cast<Position>(a.order.size()));
    Index row = 0;
    for (const Position p : a.blocks[static_cast<std::size_t>(block)]) {
      a.owner[static_cast<std::size_t>(p)] = block;
      a.local[static_cast<std::size_t>(p)] = row++;
      a.order.push_back(p);
    }
  }
  return a;
}

}  // namespace

Position Arrangement::at(int block, Index row) const {
  const std::vector<Position>& rows = blocks[static_cast<std::size_t>(block)];
  return row < static_cast<Index>(rows.size()) ? rows[static_cast<std::size_t>(row)] : -1;
}

Arrangement ring_arrangement(const Problem& problem) {
  const Sharding sharding = problem.sharding();
  Arrangement a;
  a.words = "a " + std::string(name_of(problem.layout)) + " ring of " + counted(problem.world_size, "rank");
  a.hops = hops(problem);
  for (int rank = 0; rank < problem.world_size; ++rank) a.blocks.push_back(sharding.positions(rank));
  return completed(std::move(a), problem.shape.seqlen);
}

Arrangement tiled_arrangement(Position seqlen, Position tile) {
  Arrangement a;
  a.words = "one device with tiles of " + counted(tile, "key");
  a.ring = false;
  for (Position begin = 0; begin < seqlen; begin += tile) {
    std::vector<Position>& block = a.blocks.emplace_back();
    for (Position p = begin; p < std::min(begin + tile, seqlen); ++p) block.push_back(p);
  }
  a.hops = a.count() - 1;
  return completed(std::move(a), seqlen);
}

}  // namespace ringcraft::verify
