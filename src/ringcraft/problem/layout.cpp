// Which rank owns which token.
#include "ringcraft/problem/layout.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <iterator>
#include <string>
#include <utility>

#include "ringcraft/core/error.hpp"
#include "ringcraft/problem/deal.hpp"

namespace ringcraft {
namespace {

bool deals_tokens(Layout layout) { return layout == Layout::kStriped || layout == Layout::kZigzagToken; }

constexpr int kNoOwner = -1;

// One sequence that is dealt by itself. Its ranks are counted from 0: `turned` and world_size do the rest.
struct Piece {
  Layout layout;
  Position begin, seqlen;
  int world_size, turned;  // rank r of the ring has the place (r - turned) mod N in the sequence

  int place(int rank) const { return (rank - turned + world_size) % world_size; }
  // A place that is none, from a wrong layout, stays as it is.
  int rank(int place) const { return turned == 0 ? place : (place + turned) % world_size; }

  // The chunks of a place in a layout that deals chunks; the contiguous one has no late chunk.
  ChunkPair chunks(int place) const {
    if (layout == Layout::kZigzag) return zigzag_chunks(seqlen, world_size, place);
    const Chunk only = nth_chunk(seqlen, world_size, place);
    return {only, {only.end, only.end}};
  }

  Index rows(int place) const {
    if (deals_tokens(layout)) {
      const Index rounds =
          seqlen / world_size;  // each gives every place a token; one more gives some of them one
      return rounds + (token_position(layout, world_size, place, rounds) < seqlen ? 1 : 0);
    }
    const auto [early, late] = chunks(place);
    return early.rows() + late.rows();
  }

  // The place of this position of the sequence, or kNoOwner.
  int owner_of(Position p) const {
    if (deals_tokens(layout)) return token_owner(layout, world_size, p);
    for (int place = 0; place < world_size; ++place) {
      const auto [early, late] = chunks(place);
      if (early.holds(p) || late.holds(p)) return place;
    }
    return kNoOwner;
  }

  Position global_from_local(int place, Index row) const {
    if (deals_tokens(layout)) return token_position(layout, world_size, place, row);
    const auto [early, late] = chunks(place);
    return row < early.rows() ? early.begin + row : late.begin + row - early.rows();
  }

  std::array<PositionRun, kRunsOfASequence> runs(int place) const {
    if (!deals_tokens(layout)) {
      const auto [early, late] = chunks(place);
      return {{{begin + early.begin, 1, early.rows()}, {begin + late.begin, 1, late.rows()}}};
    }
    const auto at = [&](Index row) { return begin + token_position(layout, world_size, place, row); };
    const Index all = rows(place);
    if (layout == Layout::kStriped) return {{{at(0), world_size, all}, {at(0), world_size, 0}}};
    return {{{at(0), 2 * world_size, (all + 1) / 2}, {at(1), 2 * world_size, all / 2}}};
  }

  // Of a position of this place.
  Index local_from_global(int place, Position p) const {
    if (deals_tokens(layout)) return p / world_size;
    const auto [early, late] = chunks(place);
    return early.holds(p) ? p - early.begin : early.rows() + p - late.begin;
  }
};

// The places that get one token more than others are neighbours, the first ones or the last ones: the first
// of them.
Index first_longer(const Piece& piece) {
  const Index longer = piece.seqlen % piece.world_size;
  return longer == 0 || piece.rows(0) > piece.seqlen / piece.world_size ? 0 : piece.world_size - longer;
}

// Calls body(piece) for each sequence, from the first on, until it returns true. Its ranks are those of the
// deal, before neighbours are joined.
template <class Body>
void find_piece(const Sharding& s, Body body) {
  const int ranks = s.world_size * s.joined;
  if (s.cu_seqlens.empty()) {
    body(Piece{s.layout, 0, s.seqlen, ranks, 0});
    return;
  }
  Index next = first_longer({s.layout, 0, s.cu_seqlens[1], ranks, 0});  // whose turn it is to get one more
  for (std::size_t i = 1; i < s.cu_seqlens.size(); ++i) {
    Piece piece{s.layout, s.cu_seqlens[i - 1], s.cu_seqlens[i] - s.cu_seqlens[i - 1], ranks, 0};
    piece.turned = static_cast<int>((next - first_longer(piece) + ranks) % ranks);
    next = (next + piece.seqlen) % ranks;
    if (body(std::as_const(piece))) return;
  }
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

std::string described(const Sharding& sharding) {
  return std::string(name_of(sharding.layout)) +
         (sharding.cu_seqlens.empty() ? "" : ", each sequence by itself") +
         (sharding.joined == 1 ? "" : ", " + std::to_string(sharding.joined) + " shards joined");
}

void Sharding::require(int rank) const {
  if (rank < 0 || rank >= world_size)
    throw Error("rank",
                "0 to " + std::to_string(world_size - 1) + " of " + std::to_string(world_size) + " ranks",
                std::to_string(rank), "is it taken modulo the number of ranks?");
}

Index Sharding::rows(int rank) const {
  require(rank);
  Index rows = 0;
  find_piece(*this, [&](const Piece& piece) {
    for (int member = rank * joined; member < (rank + 1) * joined; ++member)
      rows += piece.rows(piece.place(member));
    return false;
  });
  return rows;
}

Index Sharding::largest_rows() const {
  if (joined == 1) return (seqlen + world_size - 1) / world_size;
  Index most = 0;
  for (int rank = 0; rank < world_size; ++rank) most = std::max(most, rows(rank));
  return most;
}

int Sharding::owner_of(Position p) const {
  int owner = kNoOwner;
  if (p >= 0 && p < seqlen)
    find_piece(*this, [&](const Piece& piece) {
      if (p >= piece.begin + piece.seqlen) return false;
      const int place = piece.owner_of(p - piece.begin);
      if (place != kNoOwner) owner = piece.rank(place) / joined;
      return true;
    });
  if (owner == kNoOwner)
    throw Error("owner_of", "a position from 0 to seqlen - 1 (" + std::to_string(seqlen - 1) + ")",
                std::to_string(p), "check the position");
  return owner;
}

Position Sharding::global_from_local(int rank, Index row) const {
  if (joined > 1) return positions(rank)[static_cast<std::size_t>(row)];
  Position position = seqlen;
  find_piece(*this, [&](const Piece& piece) {
    const int place = piece.place(rank);
    const Index rows = piece.rows(place);
    if (row < rows) {
      position = piece.begin + piece.global_from_local(place, row);
      return true;
    }
    row -= rows;
    return false;
  });
  return position;
}

Index Sharding::local_from_global(Position p) const {
  Index before = 0;
  const int rank = owner_of(p);
  if (joined > 1) {
    const std::vector<Position> own = positions(rank);
    return std::ranges::lower_bound(own, p) - own.begin();
  }
  find_piece(*this, [&](const Piece& piece) {
    const bool here = p < piece.begin + piece.seqlen;
    const int place = piece.place(rank);
    before += here ? piece.local_from_global(place, p - piece.begin) : piece.rows(place);
    return here;
  });
  return before;
}

std::vector<Position> Sharding::positions(int rank) const {
  std::vector<Position> all;
  all.reserve(static_cast<std::size_t>(rows(rank)));  // refuses a rank that is not there
  find_piece(*this, [&](const Piece& piece) {
    for (int member = rank * joined; member < (rank + 1) * joined; ++member) {
      const int place = piece.place(member);
      for (Index row = 0, rows = piece.rows(place); row < rows; ++row)
        all.push_back(piece.begin + piece.global_from_local(place, row));
    }
    return false;
  });
  if (joined > 1) std::ranges::sort(all);
  return all;
}

std::vector<PositionRun> Sharding::runs(int rank) const {
  std::vector<PositionRun> all;
  all.reserve(runs_of_a_sequence() * std::max<std::size_t>(2, cu_seqlens.size()));
  find_piece(*this, [&](const Piece& piece) {
    for (int member = rank * joined; member < (rank + 1) * joined; ++member)
      std::ranges::copy(piece.runs(piece.place(member)), std::back_inserter(all));
    return false;
  });
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
