// Builds the arrangements of a ring, of one device, and of tiles or parts of keys.
#include "verify/diagnose/twisted/arrangement.hpp"

#include <algorithm>
#include <numeric>

#include "ringcraft/core/shown.hpp"
#include "ringcraft/problem/reach.hpp"

namespace ringcraft::verify {
namespace {

// Computes the part of each row, and its index there.
void invert(const std::vector<std::vector<Index>>& parts, Index rows, std::vector<int>& owner,
            std::vector<Index>& local) {
  owner.resize(static_cast<std::size_t>(rows));
  local.resize(static_cast<std::size_t>(rows));
  for (std::size_t part = 0; part < parts.size(); ++part)
    for (std::size_t i = 0; i < parts[part].size(); ++i) {
      owner[static_cast<std::size_t>(parts[part][i])] = static_cast<int>(part);
      local[static_cast<std::size_t>(parts[part][i])] = static_cast<Index>(i);
    }
}

// Fills the members that follow from blocks and shards.
Arrangement completed(Arrangement a, Index rows, Index keys) {
  invert(a.blocks, keys, a.owner, a.local);
  invert(a.shards, rows, a.row_owner, a.row_local);
  for (const std::vector<Index>& block : a.blocks) {
    a.offset.push_back(static_cast<Index>(a.order.size()));
    a.order.insert(a.order.end(), block.begin(), block.end());
  }
  return a;
}

}  // namespace

std::string Arrangement::part() const {
  if (ring) return "block";
  if (count() == 1) return "row";
  return !blocks.empty() && blocks.front().size() == 1 ? "key" : "tile";
}

Index Arrangement::at(int block, Index key) const {
  const std::vector<Index>& keys = blocks[static_cast<std::size_t>(block)];
  return key < static_cast<Index>(keys.size()) ? keys[static_cast<std::size_t>(key)] : -1;
}

Arrangement ring_arrangement(const Problem& problem) {
  const Sharding sharding = problem.sharding();
  Arrangement a;
  a.words = "a " + std::string(name_of(problem.layout)) + " ring of " + counted(problem.world_size, "rank");
  a.hops = hops(problem);
  for (int rank = 0; rank < problem.world_size; ++rank) a.blocks.push_back(sharding.positions(rank));
  a.shards = a.blocks;
  return completed(std::move(a), problem.shape.seqlen, problem.shape.seqlen);
}

Arrangement one_block(const BlockProblem& problem) {
  const auto keys = static_cast<Index>(problem.keys.size());
  return tiled_arrangement(static_cast<Index>(problem.queries.size()), keys, std::max<Index>(keys, 1));
}

Arrangement tiled_arrangement(Index rows, Index keys, Index tile, Index row_tile) {
  std::vector<std::vector<Index>> parts;
  for (Index begin = 0; begin < keys; begin += tile) {
    std::vector<Index>& part = parts.emplace_back();
    for (Index key = begin; key < std::min(begin + tile, keys); ++key) part.push_back(key);
  }
  Arrangement a = parted_arrangement(rows, keys, std::move(parts));
  a.words = "one device with tiles of " + counted(tile, "key");
  a.row_tile = row_tile;
  return a;
}

Arrangement parted_arrangement(Index rows, Index keys, std::vector<std::vector<Index>> parts) {
  Arrangement a;
  a.words = "one device";
  a.ring = false;
  a.blocks = std::move(parts);
  if (a.blocks.empty()) a.blocks.emplace_back();
  a.hops = a.count() - 1;
  a.shards.emplace_back(static_cast<std::size_t>(rows));
  std::iota(a.shards[0].begin(), a.shards[0].end(), Index{0});
  return completed(std::move(a), rows, keys);
}

}  // namespace ringcraft::verify
