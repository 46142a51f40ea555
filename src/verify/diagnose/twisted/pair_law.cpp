// Evaluates masks by other laws: the places and packed sequences of a row and a key, the comparison, the cut
// of a block, and skipped tiles.
#include "verify/diagnose/twisted/pair_law.hpp"

#include <algorithm>
#include <cstdlib>

#include "ringcraft/problem/deal.hpp"

namespace ringcraft::verify {
namespace {

using Places = PairLaw::Places;
using Packs = PairLaw::Packs;
using Cut = PairLaw::Cut;

// The rows of all ranks, and quantities that follow from their number.
struct Rows {
  const Arrangement& ring;
  const std::vector<Position>& positions;
  const Mask& mask;

  Index ranks() const { return ring.count(); }
  Index all() const { return static_cast<Index>(positions.size()); }
  Index length(int rank) const {
    return static_cast<Index>(ring.blocks[static_cast<std::size_t>(rank)].size());
  }
  Index offset(int rank) const { return ring.offset[static_cast<std::size_t>(rank)]; }
  Index up() const { return (all() + ranks() - 1) / ranks(); }
  int step(int rank, int source) const { return ring.wrapped(rank - source); }
  // Chunk c of 2 * ranks.
  Chunk chunk(Index c) const { return nth_chunk(all(), 2 * ring.count(), static_cast<int>(c)); }
  Index early(int rank) const { return chunk(rank).rows(); }
  Position position(LocalRow at) const {
    const Index row = ring.at(at.rank, at.row);
    return row < 0 ? -1 : positions[static_cast<std::size_t>(row)];
  }
  Index pack_at(Position position) const {
    const auto& borders = mask.cu_seqlens;
    return std::upper_bound(borders.begin(), borders.end(), position) - borders.begin();
  }
};

// The place in a zig-zag shard of an early chunk and its mirror image from the end, with chunks of this
// length.
Position zigzag_place(const Rows& rows, LocalRow at, Index early, Index late_begin) {
  return at.row < early ? rows.chunk(at.rank).begin + at.row : late_begin + at.row - early;
}

Position place_of_row(Places places, const Rows& rows, LocalRow at) {
  const Index n = rows.ranks(), small = rows.all() / (2 * n), length = rows.length(at.rank);
  const bool turned = at.row % 2 == 1;
  switch (places) {
    case Places::kRoundedUp:
      return at.rank * rows.up() + at.row;
    case Places::kRoundedDown:
      return at.rank * (rows.all() / n) + at.row;
    case Places::kOwnLength:
      return at.rank * length + at.row;
    case Places::kContiguous:
      return rows.offset(at.rank) + at.row;
    case Places::kStriped:
      return at.row * n + at.rank;
    case Places::kZigzagToken:
      return at.row * n + (turned ? n - 1 - at.rank : at.rank);
    case Places::kZigzag:
      return zigzag_place(rows, at, rows.early(at.rank), rows.chunk(2 * n - 1 - at.rank).begin);
    case Places::kZigzagMiddle:
      return zigzag_place(rows, at, length / 2, rows.chunk(2 * n - 1 - at.rank).begin);
    case Places::kZigzagOfEqual:
      return at.row < small ? at.rank * small + at.row : (2 * n - 1 - at.rank) * small + at.row - small;
    default:
      return rows.position(at);
  }
}

// Number of rows of its packed sequence that precede this one in the shard.
Position place_on_rank(const Rows& rows, LocalRow at) {
  const Index pack = rows.pack_at(rows.position(at));
  Position before = 0;
  for (Index row = 0; row < at.row; ++row) before += rows.pack_at(rows.position({at.rank, row})) == pack;
  return before;
}

Position place_in_pack(const Rows& rows, LocalRow at) {
  const Position position = rows.position(at);
  const Index pack = rows.pack_at(position);
  return pack > 0 ? position - rows.mask.cu_seqlens[static_cast<std::size_t>(pack - 1)] : position;
}

struct PlacesOfBoth {
  Position query, key;
};

// The part of its shard, the whole or a chunk, whose rows are handed to one call of a kernel with this one.
struct Call {
  Index begin, end;
};

Call call_of(Places places, const Rows& rows, LocalRow at) {
  const Index length = rows.length(at.rank), early = rows.early(at.rank);
  if (places < Places::kChunkTop) return {0, length};
  return at.row < early ? Call{0, early} : Call{early, length};
}

// Queries of such a call, whose mask is aligned at a corner of the keys that it gets.
PlacesOfBoth aligned(Places places, const Rows& rows, LocalRow query, Position key) {
  const Call call = call_of(places, rows, query);
  const Index row = query.row - call.begin, after = call.end - 1 - query.row;
  const Position left = rows.mask.left;
  switch (places) {
    case Places::kChunkTop:
      return {row, key};
    case Places::kEndOfAll:
    case Places::kChunkEndOfAll:
      return {rows.all() - 1 - after, key};
    case Places::kEndOfGathered:
      return {rows.position({query.rank, call.end - 1}) - after, key};
    default:
      break;
  }
  const bool is_short = places == Places::kHaloShort;
  const Position start = rows.position({query.rank, call.begin}) - left + (is_short ? 1 : 0);
  const Position at = is_short ? rows.position(query) : std::max<Position>(start, 0) + row;
  return {at, key < start ? at - left - 1 : key};  // too far for this query: it was not gathered
}

PlacesOfBoth places_of(Places places, const Rows& rows, LocalRow query, LocalRow key) {
  const Index length = rows.length(query.rank);
  switch (places) {
    case Places::kQueryLength:
      return {query.rank * length + query.row, key.rank * length + key.row};
    case Places::kStepsBehind:
      return {rows.step(query.rank, key.rank) * length + query.row, key.row};
    case Places::kRanksApart:
      return {std::abs(query.rank - key.rank) * length + query.row, key.row};
    case Places::kRestartRows:
      return {place_on_rank(rows, query), place_in_pack(rows, key)};
    case Places::kRestartKeys:
      return {place_in_pack(rows, query), place_on_rank(rows, key)};
    case Places::kRestartBoth:
      return {place_on_rank(rows, query), place_on_rank(rows, key)};
    default:
      if (places >= Places::kEndOfAll) return aligned(places, rows, query, rows.position(key));
      return {place_of_row(places, rows, query), place_of_row(places, rows, key)};
  }
}

// Number of packed sequences in the shard up to this row.
Index counted_packs(const Rows& rows, LocalRow at) {
  Index count = 0, last = -1;
  for (Index row = 0; row <= at.row; ++row) {
    const Index pack = rows.pack_at(rows.position({at.rank, row}));
    count += pack != last;
    last = pack;
  }
  return count;
}

// The packed sequence of the local row, with borders divided by the number of ranks.
Index pack_of_divided(const Rows& rows, Index row, bool up) {
  const auto& borders = rows.mask.cu_seqlens;
  const Index n = rows.ranks();
  return std::ranges::count_if(borders,
                               [&](Position border) { return (border + (up ? n - 1 : 0)) / n <= row; });
}

Index pack_of_row(Packs packs, const Rows& rows, LocalRow at, Position place, bool key) {
  const int rank = at.rank;
  switch (packs) {
    case Packs::kOfPlaces:
      return rows.pack_at(place);
    case Packs::kCounted:
      return counted_packs(rows, at);
    case Packs::kBordersOver:
    case Packs::kBordersOverUp:
      return pack_of_divided(rows, at.row, packs == Packs::kBordersOverUp);
    case Packs::kOfLocalRows:
      return rows.pack_at(at.row);
    case Packs::kKeysOfLocal:
      return rows.pack_at(key ? at.row : rows.position(at));
    case Packs::kRowsOfLocal:
      return rows.pack_at(key ? rows.position(at) : at.row);
    case Packs::kOfFirstRow:
      return rows.pack_at(rows.position({rank, 0}));
    case Packs::kKeysOfFirst:
      return rows.pack_at(rows.position({rank, key ? 0 : at.row}));
    case Packs::kContiguous:
      return rows.pack_at(rows.offset(rank) + at.row);
    case Packs::kOfNextBlock:
      return rows.pack_at(rows.position({key ? rows.ring.wrapped(rank - 1) : rank, at.row}));
    case Packs::kOfBlockBefore:
      return rows.pack_at(rows.position({key ? rows.ring.wrapped(rank + 1) : rank, at.row}));
    case Packs::kRight:
      break;
  }
  return rows.pack_at(rows.position(at));
}

bool is_near(PairLaw::Compared compared, const Mask& mask, const Rows& rows, PlacesOfBoth at, Index local) {
  const Index all = rows.all(), n = rows.ranks();
  Position reach = mask.left;
  if (compared == PairLaw::Compared::kLocalWindowOver) reach /= n;
  if (compared == PairLaw::Compared::kLocalWindowOverUp) reach = (reach + n - 1) / n;
  if (compared >= PairLaw::Compared::kLocalWindow)
    return local <= reach && (mask.right == kNoLimit || at.key - at.query <= mask.right);
  Position distance = at.query - at.key;
  if (compared == PairLaw::Compared::kModulo) distance = (distance % all + all) % all;
  if (compared == PairLaw::Compared::kBothSides) distance = std::abs(distance);
  const bool near = mask.left == kNoLimit || distance <= mask.left;
  return near && (mask.right == kNoLimit || -distance <= mask.right);
}

Index early_rows(Cut cut, const Rows& rows, int rank, int of_queries) {
  switch (cut) {
    case Cut::kHalf:
      return rows.length(rank) / 2;
    case Cut::kFirstChunk:
      return rows.early(0);
    case Cut::kLastChunk:
      return rows.all() / (2 * rows.ranks());
    case Cut::kOfLateChunk:
      return rows.length(rank) - rows.early(rank);
    default:
      return rows.early(of_queries);
  }
}

bool is_in_cut(const PairLaw& law, const Rows& rows, LocalRow query, LocalRow key) {
  const bool later = key.rank > query.rank, own = key.rank == query.rank;
  const Index corner = rows.length(key.rank) - rows.length(query.rank), behind = key.row - query.row;
  switch (law.cut) {
    case Cut::kBottomRight:
      return behind <= corner - (later ? 1 : 0);
    case Cut::kBottomRightAll:
      return behind <= corner;
    case Cut::kBottomRightStrict:
      return behind <= corner - (own ? 0 : 1);
    case Cut::kTriangles:
      return !later && behind <= 0;
    case Cut::kTrianglesRight:
      return !later && behind <= corner;
    case Cut::kShiftedInside:
      if (later && (query.row == 0 || key.row + 1 == rows.length(key.rank))) return false;
      [[fallthrough]];
    case Cut::kShifted:
      return behind <= (own ? law.own : later ? law.later : law.earlier);
    default:
      if (own) return behind <= 0;
      return later ? query.row >= early_rows(law.cut, rows, query.rank, query.rank)
                   : key.row < early_rows(law.cut, rows, key.rank, query.rank);
  }
}

// The same of a zigzag ring that keeps triangles in blocks which it should see whole.
bool is_in_triangle(Cut cut, const Rows& rows, LocalRow query, LocalRow key) {
  const bool later = key.rank > query.rank, own = key.rank == query.rank;
  const Index early = rows.early(query.rank), early_keys = rows.early(key.rank);
  if (!own && (later ? query.row < early : key.row >= early_keys)) return false;
  if (!own && later != (cut == Cut::kCausalLater || cut == Cut::kCausalLaterRight)) return true;
  const bool right = cut == Cut::kCausalEarlierRight || cut == Cut::kCausalLaterRight;
  const Index queries = rows.length(query.rank) - (later ? early : 0),
              keys = later || own ? rows.length(key.rank) : early_keys;
  return key.row <= query.row - (later ? early : 0) + (right ? keys - queries : 0);
}

// Whether the tiles of this query and key are skipped.
bool is_skipped(const PairLaw& law, const Rows& rows, LocalRow query, LocalRow key) {
  using Skip = PairLaw::Skip;
  const auto corner = [&](LocalRow at, bool last) {
    const Index length = rows.length(at.rank), tile = law.tile == 0 ? length : law.tile,
                first = at.row / tile * tile;
    return rows.position({at.rank, last ? std::min(first + tile, length) - 1 : first});
  };
  const auto has_pack = [&](Index pack) {  // among the queries of the tile
    const Index length = rows.length(query.rank), tile = law.tile == 0 ? length : law.tile,
                first = query.row / tile * tile;
    for (Index row = first; row < std::min(first + tile, length); ++row)
      if (rows.pack_at(rows.position({query.rank, row})) == pack) return true;
    return false;
  };
  const Position first_query = corner(query, false), last_query = corner(query, true),
                 first_key = corner(key, false), last_key = corner(key, true);
  switch (law.skip) {
    case Skip::kNone:
      return false;
    case Skip::kFarAtWindow:
      return first_query - last_key >= rows.mask.left;
    case Skip::kFarByFirst:
      return first_query - first_key > rows.mask.left;
    case Skip::kFarByLast:
      return last_query - last_key > rows.mask.left;
    case Skip::kLateAtDiagonal:
      return first_key >= last_query;
    case Skip::kLateByFirst:
      return first_key > first_query;
    case Skip::kLateByLast:
      return last_key > last_query;
    case Skip::kPackOfFirstKey:
      return !has_pack(rows.pack_at(first_key));
    case Skip::kPackOfLastKey:
      return !has_pack(rows.pack_at(last_key));
    case Skip::kPackOfFirst:
      return rows.pack_at(first_query) != rows.pack_at(first_key);
    case Skip::kPackOfLast:
      return rows.pack_at(first_query) != rows.pack_at(last_key);
  }
  return false;
}

}  // namespace

bool sees_by_law(const PairLaw& law, const Mask& mask, const Arrangement& ring,
                 const std::vector<Position>& positions, LocalRow query, LocalRow key) {
  const Rows rows{ring, positions, mask};
  if (law.skip != PairLaw::Skip::kNone && is_skipped(law, rows, query, key)) return false;
  const PlacesOfBoth at = places_of(law.places, rows, query, key);
  const bool near = law.cut == Cut::kRight ? is_near(law.compared, mask, rows, at, query.row - key.row)
                    : law.cut >= Cut::kCausalEarlier && law.cut <= Cut::kCausalLaterRight
                        ? is_in_triangle(law.cut, rows, query, key)
                        : is_in_cut(law, rows, query, key);
  return near && (mask.cu_seqlens.empty() || pack_of_row(law.packs, rows, query, at.query, false) ==
                                                 pack_of_row(law.packs, rows, key, at.key, true));
}

int labelled(NodeLabel label, int ranks, int inner, int rank, int source) {
  const auto on = [](int number, int of) { return (number % of + of) % of; };
  const int nodes = ranks / inner, node = rank / inner, seat = rank % inner;
  const int outer_hops = on(node - source / inner, nodes), inner_hops = on(seat - source % inner, inner);
  const int step = on(rank - source, ranks);
  const auto rank_at = [&](int at_node, int at_seat) {
    return on(at_node, nodes) * inner + on(at_seat, inner);
  };
  switch (label) {
    case NodeLabel::kFlat:
      return on(rank - outer_hops * inner - inner_hops, ranks);
    case NodeLabel::kNested:
      return rank_at(node - step / inner, seat - step % inner);
    case NodeLabel::kOuterAhead:
      return rank_at(node + outer_hops, source % inner);
    case NodeLabel::kInnerAhead:
      return rank_at(source / inner, seat + inner_hops);
    case NodeLabel::kInnerOnly:
      return rank_at(node, source % inner);
    case NodeLabel::kOuterOnly:
      return rank_at(source / inner, seat);
    case NodeLabel::kNodesInside:
      return source % inner * nodes + source / inner;
    case NodeLabel::kMirrored:
      return ranks - 1 - source;
    case NodeLabel::kStep:
      return step;
    case NodeLabel::kRight:
      break;
  }
  return source;
}

}  // namespace ringcraft::verify
