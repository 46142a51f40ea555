// Pairs and tiles of key ranges, and the ranges from the side of the keys.
#include <algorithm>
#include <numeric>

#include "ringcraft/problem/key_ranges.hpp"

namespace ringcraft {
namespace {

const int& at(const std::vector<int>& list, int i) { return list[static_cast<std::size_t>(i)]; }

}  // namespace

Index KeyRanges::pairs() const {
  Index sum = 0;
  for (std::size_t a = 0; a < begin.size(); ++a) sum += end[a] - begin[a];
  return sum;
}

Tile KeyRanges::tile(int row0, int row1, int key0, int key1) const {
  // begin and end never decrease, so the first and the last row of the tile decide for all of its rows.
  if (at(end, row1 - 1) <= key0 || key1 <= at(begin, row0)) return Tile::kEmpty;
  if (at(begin, row1 - 1) <= key0 && key1 <= at(end, row0)) return Tile::kFull;
  return Tile::kPartial;
}

Index KeyRanges::tiles(int keys, int tile_rows, int tile_keys) const {
  Index count = 0;
  for (int row = 0; row < rows(); row += tile_rows)
    for (int key = 0; key < keys; key += tile_keys) {
      const int row1 = std::min(row + tile_rows, rows()), key1 = std::min(key + tile_keys, keys);
      count += tile(row, row1, key, key1) == Tile::kEmpty ? 0 : 1;
    }
  return count;
}

KeyRanges KeyRanges::slice(Index first, Index count) const {
  return {{begin.begin() + first, begin.begin() + first + count},
          {end.begin() + first, end.begin() + first + count}};
}

KeyRanges KeyRanges::transposed(int keys) const {
  KeyRanges seen;
  int first = 0, last = 0;
  for (int b = 0; b < keys; ++b) {
    while (first < rows() && at(end, first) <= b) ++first;  // first row whose end lies past key b
    while (last < rows() && at(begin, last) <= b) ++last;   // first row that begins past key b
    seen.begin.push_back(first);
    seen.end.push_back(std::max(first, last));
  }
  return seen;
}

KeyRanges key_ranges(const Mask& mask, Position seqlen) {
  std::vector<Position> all(static_cast<std::size_t>(seqlen));
  std::iota(all.begin(), all.end(), Position{0});
  return ranges_of(mask, seqlen, all, all);
}

}  // namespace ringcraft
