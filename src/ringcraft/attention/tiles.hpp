#pragma once
/// @file
/// Tiles of the score matrix, for blockwise_forward.cpp and blockwise_backward.cpp: which ones there are,
/// what of each is visible, and memory for one of them. Not for users of the library.

#include <algorithm>
#include <span>

#include "ringcraft/attention/blockwise.hpp"
#include "ringcraft/core/scratch.hpp"

namespace ringcraft {

/// One tile: the query rows [row0, row1) against the keys [key0, key1), neither of them empty.
struct TileBounds {
  Index row0;  ///< its first row
  Index row1;  ///< one past its last row
  Index key0;  ///< its first key
  Index key1;  ///< one past its last key

  /// Number of query rows.
  Index rows() const { return row1 - row0; }
  /// Number of keys.
  Index keys() const { return key1 - key0; }
};

/// The requested size, limited to existing rows and keys, so that no memory is allocated for others. Throws
/// Error for a size below 1.
inline TileSize clipped(TileSize size, Index rows, Index keys) {
  size.validate();
  return {std::min(size.rows, std::max<Index>(rows, 1)), std::min(size.keys, std::max<Index>(keys, 1))};
}

/// Calls body(bounds) for every tile with a visible pair: row tiles outside, key tiles inside, both from
/// the first to the last. The last tile of a row or column may be smaller than `size`.
template <class Body>
void for_each_tile(const KeyRanges& ranges, Index keys, TileSize size, Body body) {
  for (Index row0 = 0; row0 < ranges.rows(); row0 += size.rows)
    for (Index key0 = 0; key0 < keys; key0 += size.keys) {
      const TileBounds t{row0, std::min<Index>(row0 + size.rows, ranges.rows()), key0,
                         std::min(key0 + size.keys, keys)};
      if (ranges.tile(static_cast<int>(t.row0), static_cast<int>(t.row1), static_cast<int>(t.key0),
                      static_cast<int>(t.key1)) != Tile::kEmpty)
        body(t);
    }
}

/// The visible scores of row i of a tile (i counts from t.row0), as a span inside `scores`; it may be empty.
/// The other scores of the row become 0, which is the weight of a key that is not seen.
template <class T>
std::span<T> visible_scores(Matrix<T> scores, const TileBounds& t, const KeyRanges& ranges, Index i) {
  const auto a = static_cast<std::size_t>(t.row0 + i);
  const Index first = std::clamp<Index>(ranges.begin[a], t.key0, t.key1) - t.key0;
  const Index last = std::clamp<Index>(ranges.end[a], t.key0, t.key1) - t.key0;
  const std::span<T> row = scores.row(i);
  std::fill(row.begin(), row.begin() + first, T(0));
  std::fill(row.begin() + std::max(first, last), row.end(), T(0));
  return row.subspan(static_cast<std::size_t>(first),
                     static_cast<std::size_t>(std::max<Index>(last - first, 0)));
}

/// Memory for one tile of scores, reshaped for each; its initial contents are meaningless.
template <class T>
class TileMemory {
 public:
  /// Room for tiles of at most this size.
  explicit TileMemory(TileSize size) : memory_(static_cast<std::size_t>(size.rows * size.keys)) {}

  /// A matrix of the tile's rows and keys in this memory.
  Matrix<T> fit(const TileBounds& t) {
    return {std::span(memory_).first(static_cast<std::size_t>(t.rows() * t.keys())), t.rows(), t.keys()};
  }

 private:
  Scratch<T> memory_;
};

}  // namespace ringcraft
