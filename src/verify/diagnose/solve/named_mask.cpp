// Lists the named masks of a problem, and evaluates each for a row of a shard and a key of a block.
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

// Windows of other lengths.
void add_windows(const Mask& mask, const Arrangement& place, std::vector<NamedMask>& all) {
  if (mask.left == kNoLimit) return;
  const auto rows = static_cast<Position>(place.blocks.front().size());
  std::vector<Position> lengths{mask.left / 2,     (mask.left + 1) / 2, 2 * mask.left,
                                2 * mask.left + 1, mask.left - 2,       mask.left + 2};
  if (place.ring)
    for (const Position more : {rows, mask.left + rows, mask.left - rows, mask.left / rows * rows,
                                (mask.left + rows - 1) / rows * rows})
      lengths.push_back(more);
  std::ranges::sort(lengths);
  const auto same = std::ranges::unique(lengths);
  lengths.erase(same.begin(), same.end());
  for (const Position length : lengths)
    if (length >= 0 && std::abs(length - mask.left) > 1)
      all.push_back({Kind::kWindowOf, static_cast<int>(length)});
  all.push_back({Kind::kWindowBoth});
  all.push_back({Kind::kWindowOfFirst});
  all.push_back({Kind::kWindowOfLast});
}

// Adds other borders of packed sequences.
void add_borders(const Mask& mask, std::vector<NamedMask>& all) {
  if (mask.cu_seqlens.empty()) return;
  const int inner = static_cast<int>(mask.cu_seqlens.size()) - 2;
  for (int border = 1; border <= std::min(inner, 8); ++border) {
    all.push_back({Kind::kBorderLost, border});
    if (inner > 1) all.push_back({Kind::kBorderAlone, border});
  }
  for (const Kind kind :
       {Kind::kBordersAfter, Kind::kPacksOfPlaces, Kind::kPackLengths, Kind::kPackOneBefore})
    all.push_back({kind});
}

// Whether a row sees a key through one of those masks of packed sequences.
bool sees_by_borders(const Mask& mask, NamedMask m, Position q, Position k, Index i, Index n) {
  Mask other = mask;
  const auto border = static_cast<std::ptrdiff_t>(m.other);
  switch (m.kind) {
    case Kind::kBorderLost:
      other.cu_seqlens.erase(other.cu_seqlens.begin() + border);
      return visible(other, q, k);
    case Kind::kBorderAlone:
      other.cu_seqlens = {mask.cu_seqlens.front(), mask.cu_seqlens[static_cast<std::size_t>(m.other)],
                          mask.cu_seqlens.back()};
      return visible(other, q, k);
    case Kind::kPackOneBefore:
      return visible(mask, q, k) ||
             (k == pack_of(mask, q).second - 1 && visible({mask.left, mask.right, {}}, q, k));
    default:
      break;
  }
  other.cu_seqlens.clear();
  if (!visible(other, q, k)) return false;
  if (m.kind == Kind::kBordersAfter) return pack_of(mask, q - 1).first == pack_of(mask, k - 1).first;
  if (m.kind == Kind::kPacksOfPlaces) return pack_of(mask, i).first == pack_of(mask, n).first;
  Mask lengths = mask;  // kPackLengths
  for (std::size_t at = 0; at + 1 < mask.cu_seqlens.size(); ++at)
    lengths.cu_seqlens[at] = mask.cu_seqlens[at + 1] - mask.cu_seqlens[at];
  lengths.cu_seqlens.pop_back();
  if (!std::ranges::is_sorted(lengths.cu_seqlens)) return false;
  return pack_of(lengths, q).first == pack_of(lengths, k).first;
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
  add(place.ring, {Kind::kZigzagSwapped, Kind::kHalvesApart});
  for (int quarter = 0; quarter < 4 && place.ring; ++quarter) {
    all.push_back({Kind::kQuarterLost, quarter});
    all.push_back({Kind::kQuarterWhole, quarter});
  }
  add_windows(mask, place, all);
  add_borders(mask, all);
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
    case Kind::kZigzagSwapped:
      return block == shard ? visible(mask, q, k) : block < shard ? i >= (rows + 1) / 2 : n < (keys + 1) / 2;
    case Kind::kHalvesApart:
      return (i >= (rows + 1) / 2) == (n >= (keys + 1) / 2) && visible(mask, q, k);
    case Kind::kQuarterLost:
    case Kind::kQuarterWhole: {
      const bool inside =
          (i >= (rows + 1) / 2) == (m.other / 2 == 1) && (n >= (keys + 1) / 2) == (m.other % 2 == 1);
      return m.kind == Kind::kQuarterLost ? !inside && visible(mask, q, k) : inside || visible(mask, q, k);
    }
    case Kind::kWindowOf:
      mask.left = m.other;
      break;
    case Kind::kWindowBoth:
      mask.right = mask.left;
      break;
    case Kind::kWindowOfFirst:
    case Kind::kWindowOfLast: {
      const Position of = row_position(p, place, shard, m.kind == Kind::kWindowOfFirst ? 0 : rows - 1);
      return k >= of - mask.left && visible({kNoLimit, mask.right, mask.cu_seqlens}, q, k);
    }
    case Kind::kBorderLost:
    case Kind::kBorderAlone:
    case Kind::kBordersAfter:
    case Kind::kPacksOfPlaces:
    case Kind::kPackLengths:
    case Kind::kPackOneBefore:
      return sees_by_borders(mask, m, q, k, i, n);
  }
  return visible(mask, q, k);
}

}  // namespace ringcraft::verify
