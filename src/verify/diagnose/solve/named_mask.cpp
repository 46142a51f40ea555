// Masks that have a name (see named_mask.hpp).
#include "verify/diagnose/solve/named_mask.hpp"

#include <algorithm>

namespace ringcraft::verify {
namespace {

using Kind = NamedMask::Kind;

// The packed sequence of a position, and where it begins.
std::pair<std::ptrdiff_t, Position> pack_of(const Mask& mask, Position position) {
  const auto after = std::ranges::upper_bound(mask.cu_seqlens, position);
  const std::ptrdiff_t pack = after - mask.cu_seqlens.begin() - 1;
  return {pack, pack < 0 ? 0 : mask.cu_seqlens[static_cast<std::size_t>(pack)]};
}

Position row_position(const BlockProblem& p, const Arrangement& place, int shard, Index i) {
  const std::vector<Index>& rows = place.shards[static_cast<std::size_t>(shard)];
  return i < static_cast<Index>(rows.size())
             ? p.queries[static_cast<std::size_t>(rows[static_cast<std::size_t>(i)])]
             : -1;
}

Position key_position(const BlockProblem& p, const Arrangement& place, int block, Index n) {
  const Index key = place.at(block, n);
  return key < 0 ? -1 : p.keys[static_cast<std::size_t>(key)];
}

}  // namespace

std::vector<NamedMask> named_masks(const BlockProblem& problem, const Arrangement& place, MaskSet set) {
  const Mask& mask = problem.mask;
  std::vector<NamedMask> all{{Kind::kRight}, {Kind::kNone}, {Kind::kLocal}};
  const auto add = [&](bool possible, std::initializer_list<Kind> kinds) {
    for (const Kind kind : kinds)
      if (possible) all.push_back({kind});
  };
  add(mask.right != kNoLimit,
      {Kind::kStrict, Kind::kAhead, Kind::kNotCausal, Kind::kTurned, Kind::kTurnedHere});
  add(mask.left != kNoLimit, {Kind::kWindowShort, Kind::kWindowLong, Kind::kNoWindow});
  add(!mask.cu_seqlens.empty(), {Kind::kNoPacks, Kind::kPacksOfRows, Kind::kPackPositions});
  add(place.ring, {Kind::kEarlyKeys, Kind::kLateKeys, Kind::kEarlyRows, Kind::kLateRows});
  add(place.ring, {Kind::kDiagonalLost});
  add(true, {Kind::kFirstKeyLost, Kind::kLastKeyLost});
  const int most = std::min(place.count(), 12);
  for (int other = 0; other < most && place.ring; ++other) {
    all.push_back({Kind::kLabel, other});
    all.push_back({Kind::kRowsOf, other});
  }
  if (set == MaskSet::kCommon) return all;
  add(place.ring, {Kind::kEqualShards, Kind::kOwnLengths});
  for (const int tile : {2, 4, 6, 8, 16, 32, 64}) {
    all.push_back({Kind::kTailLost, tile});
    if (mask.left != kNoLimit) all.push_back({Kind::kWindowOfTiles, tile});
  }
  if (place.ring)
    for (const Layout layout : kLayouts) {
      all.push_back({Kind::kLayout, static_cast<int>(layout)});
      all.push_back({Kind::kKeysOfLayout, static_cast<int>(layout)});
    }
  add(place.ring && !mask.cu_seqlens.empty(), {Kind::kPacksOverRanks});
  return all;
}

bool sees(const BlockProblem& p, const Arrangement& place, NamedMask m, int shard, Index i, int block,
          Index n) {
  Position q = row_position(p, place, shard, i), k = key_position(p, place, block, n);
  const auto rows = static_cast<Index>(place.shards[static_cast<std::size_t>(shard)].size());
  const auto keys = static_cast<Index>(place.blocks[static_cast<std::size_t>(block)].size());
  Mask mask = p.mask;
  switch (m.kind) {
    case Kind::kRight:
      break;
    case Kind::kNone:
      return true;
    case Kind::kLocal:
      return visible({mask.left, mask.right, {}}, i, n);
    case Kind::kStrict:
      return q != k && visible(mask, q, k);
    case Kind::kAhead:
      ++mask.right;
      break;
    case Kind::kNotCausal:
      mask.right = kNoLimit;
      break;
    case Kind::kNoWindow:
      mask.left = kNoLimit;
      break;
    case Kind::kWindowShort:
      if (mask.left == 0) return false;
      --mask.left;
      break;
    case Kind::kWindowLong:
      ++mask.left;
      break;
    case Kind::kNoPacks:
      mask.cu_seqlens.clear();
      break;
    case Kind::kPacksOfRows: {
      const Position at = row_position(p, place, shard, n);
      return at >= 0 && pack_of(mask, at).first == pack_of(mask, q).first &&
             visible({mask.left, mask.right, {}}, q, k);
    }
    case Kind::kPackPositions:
      q -= pack_of(mask, q).second, k -= pack_of(mask, k).second;
      mask.cu_seqlens.clear();
      break;
    case Kind::kTurned:
      return visible(mask, k, q);
    case Kind::kTurnedHere: {
      const Position turned_row = row_position(p, place, shard, n),
                     turned_key = key_position(p, place, block, i);
      return turned_row >= 0 && turned_key >= 0 && visible(mask, turned_row, turned_key);
    }
    case Kind::kEarlyKeys:
      return n < (keys + 1) / 2;
    case Kind::kLateKeys:
      return n >= (keys + 1) / 2;
    case Kind::kEarlyRows:
      return i < (rows + 1) / 2;
    case Kind::kLateRows:
      return i >= (rows + 1) / 2;
    case Kind::kDiagonalLost:
      return i != n && visible(mask, q, k);
    case Kind::kFirstKeyLost:
      return n > 0 && visible(mask, q, k);
    case Kind::kLastKeyLost:
      return n + 1 < keys && visible(mask, q, k);
    case Kind::kTailLost:
      return n < keys / m.other * m.other && visible(mask, q, k);
    case Kind::kWindowOfTiles: {
      const Position last =
          key_position(p, place, block, std::min(n / m.other * m.other + m.other, keys) - 1);
      return visible({kNoLimit, mask.right, mask.cu_seqlens}, q, k) && q - last <= mask.left;
    }
    case Kind::kLabel:
      k = key_position(p, place, m.other, n);
      if (k < 0) return mask.left == kNoLimit && mask.right == kNoLimit && mask.cu_seqlens.empty();
      break;
    case Kind::kRowsOf:
      q = row_position(p, place, m.other, i);
      if (q < 0) return false;
      break;
    case Kind::kPacksOverRanks: {
      Mask local{mask.left, mask.right, {}};
      Mask packs{kNoLimit, kNoLimit, {}};
      for (const Position border : mask.cu_seqlens) packs.cu_seqlens.push_back(border / place.count());
      packs.cu_seqlens.back() = kNoLimit;
      return visible(packs, i, n) && visible(local, q, k);
    }
    case Kind::kLayout:
    case Kind::kKeysOfLayout: {
      const Sharding other{static_cast<Layout>(m.other), static_cast<Position>(p.keys.size()), place.count()};
      if (n >= other.rows(block) || i >= other.rows(shard)) return false;
      k = other.global_from_local(block, n);
      if (m.kind == Kind::kLayout) q = other.global_from_local(shard, i);
      break;
    }
    case Kind::kEqualShards:
      k = static_cast<Position>(block) * rows + n;
      q = static_cast<Position>(shard) * rows + i;
      break;
    case Kind::kOwnLengths:
      k = static_cast<Position>(block) *
              static_cast<Position>(place.blocks[static_cast<std::size_t>(block)].size()) +
          n;
      q = static_cast<Position>(shard) * rows + i;
      break;
  }
  return visible(mask, q, k);
}

}  // namespace ringcraft::verify
