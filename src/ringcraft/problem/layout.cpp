// Which rank owns which token.
#include "ringcraft/problem/layout.hpp"

#include <cstring>
#include <string>

#include "ringcraft/core/error.hpp"
#include "ringcraft/problem/deal.hpp"

namespace ringcraft {
namespace {

bool deals_tokens(Layout layout) { return layout == Layout::kStriped || layout == Layout::kZigzagToken; }

// The chunks of a rank in a layout that deals chunks; the contiguous one has no late chunk.
ChunkPair chunks_of(const Sharding& s, int rank) {
  if (s.layout == Layout::kZigzag) return zigzag_chunks(s.seqlen, s.world_size, rank);
  const Chunk only = nth_chunk(s.seqlen, s.world_size, rank);
  return {only, {only.end, only.end}};
}

}  // namespace

std::string_view name_of(Layout layout) {
  switch (layout) {
    case Layout::kContiguous:
      return "contiguous";
    case Layout::kStriped:
      return "striped";
    case Layout::kZigzag:
      return "zigzag";
    case Layout::kZigzagToken:
      return "zigzag-token";
  }
  return "?";
}

Index Sharding::rows(int rank) const {
  if (rank < 0 || rank >= world_size)
    throw Error("rank",
                "0 to " + std::to_string(world_size - 1) + " of " + std::to_string(world_size) + " ranks",
                std::to_string(rank), "is it taken modulo the number of ranks?");
  if (deals_tokens(layout)) {
    const Index rounds =
        seqlen / world_size;  // each gives every rank a token; one more gives some of them one
    return rounds + (token_position(layout, world_size, rank, rounds) < seqlen ? 1 : 0);
  }
  const auto [early, late] = chunks_of(*this, rank);
  return early.rows() + late.rows();
}

Index Sharding::largest_rows() const { return (seqlen + world_size - 1) / world_size; }

int Sharding::owner_of(Position p) const {
  const bool there = 0 <= p && p < seqlen;
  if (there && deals_tokens(layout)) return token_owner(layout, world_size, p);
  for (int rank = 0; there && rank < world_size; ++rank) {
    const auto [early, late] = chunks_of(*this, rank);
    if (early.holds(p) || late.holds(p)) return rank;
  }
  throw Error("owner_of", "a position from 0 to seqlen - 1 (" + std::to_string(seqlen - 1) + ")",
              std::to_string(p), "check the position");
}

Position Sharding::global_from_local(int rank, Index row) const {
  if (deals_tokens(layout)) return token_position(layout, world_size, rank, row);
  const auto [early, late] = chunks_of(*this, rank);
  return row < early.rows() ? early.begin + row : late.begin + row - early.rows();
}

Index Sharding::local_from_global(Position p) const {
  if (deals_tokens(layout)) return p / world_size;
  const auto [early, late] = chunks_of(*this, owner_of(p));
  return early.holds(p) ? p - early.begin : early.rows() + p - late.begin;
}

std::vector<Position> Sharding::positions(int rank) const {
  std::vector<Position> all(static_cast<std::size_t>(rows(rank)));
  for (std::size_t a = 0; a < all.size(); ++a) all[a] = global_from_local(rank, static_cast<Index>(a));
  return all;
}

namespace {

enum class Direction { kScatter, kGather };

// Copies a rank's rows between the whole tensor and its shard. WholeBytes and ShardBytes differ in constness
// only.
template <Direction direction, class WholeBytes, class ShardBytes>
void copy_rows(WholeBytes whole, ShardBytes shard, const Extents& e, DType type, const Sharding& sharding,
               int rank) {
  const auto positions = sharding.positions(rank);
  const std::size_t row_bytes = static_cast<std::size_t>(e.width) * size_of(type);
  for (Index head = 0; head < e.batch * e.heads; ++head)
    for (std::size_t a = 0; a < positions.size(); ++a) {
      auto* global =
          whole.data() + static_cast<std::size_t>(head * sharding.seqlen + positions[a]) * row_bytes;
      auto* local = shard.data() + (static_cast<std::size_t>(head) * positions.size() + a) * row_bytes;
      if constexpr (direction == Direction::kScatter) {
        std::memcpy(local, global, row_bytes);
      } else {
        std::memcpy(global, local, row_bytes);
      }
    }
}

void require_rows(const Buffer& buffer, Index rows, const char* what) {
  if (buffer.extents().rows != rows)
    throw Error(what, std::to_string(rows) + " rows", std::to_string(buffer.extents().rows),
                "check seqlen, layout and number of ranks");
}

}  // namespace

Buffer scatter(const Buffer& whole, const Sharding& sharding, int rank) {
  require_rows(whole, sharding.seqlen, "scatter");
  Extents e = whole.extents();
  e.rows = sharding.rows(rank);
  Buffer shard(e, whole.dtype());
  if (!shard.empty())
    copy_rows<Direction::kScatter>(whole.bytes(), shard.bytes(), e, whole.dtype(), sharding, rank);
  return shard;
}

void gather(Buffer& whole, const Buffer& shard, const Sharding& sharding, int rank) {
  require_rows(whole, sharding.seqlen, "gather");
  require_rows(shard, sharding.rows(rank), "gather");
  if (!shard.empty())
    copy_rows<Direction::kGather>(whole.bytes(), shard.bytes(), whole.extents(), whole.dtype(), sharding,
                                  rank);
}

}  // namespace ringcraft
