#pragma once
/// @file
/// Shared by the fast kernels: a tile of scores, the products that fill it and use it, and what a row of it
/// may see.

#include <algorithm>

#include "ringcraft/attention/fast/panels.hpp"
#include "ringcraft/attention/fast/vector.hpp"
#include "ringcraft/problem/key_ranges.hpp"

namespace ringcraft::fast_detail {

// Rows [row0, row1) against keys [key0, key1), counted as in the KeyRanges.
struct Tile {
  Index row0, row1, key0, key1;

  Index rows() const { return row1 - row0; }
  Index keys() const { return key1 - key0; }
  bool visible(const KeyRanges& ranges) const {
    return key0 < key1 && ranges.tile(static_cast<int>(row0), static_cast<int>(row1), static_cast<int>(key0),
                                      static_cast<int>(key1)) != ringcraft::Tile::kEmpty;
  }
};

// The largest multiple of the panel width that is at most i.
template <class T>
Index panel_floor(Index i) {
  return i / kPanelWidth<T> * kPanelWidth<T>;
}

// Memory for a tile of scores, whose rows lie a cache line further apart than they need: with rows a power of
// two apart, a column would crowd into a few sets of the cache.
template <class T>
class Scores {
 public:
  Strided<T> of(const Tile& t) {
    const Index step = panel_floor<T>(t.keys() - 1) + kPanelWidth<T> + 64 / Index{sizeof(T)};
    if (const auto size = static_cast<std::size_t>(t.rows() * step); memory_.size() < size)
      memory_.resize(size);
    return {memory_, t.rows(), t.keys(), step, 1};
  }

 private:
  Scratch<T> memory_;
};

// c = a panelsᵀ for the columns of the panels from `first` on that c reaches; the last panel is written
// whole, which may be beyond the columns of c. a [rows, depth], panels of [depth, columns].
template <class T>
void multiply_into(Strided<T> c, Matrix<const T> a, const Panels<T>& panels, Index first) {
  for (Index p = first / kPanelWidth<T>; p < panels.count() && panels.range(p).first < first + c.cols; ++p) {
    const auto [start, width] = panels.range(p);
    multiply_panel<T>(panels.panel(p), strided(a).transposed(), Start::kZero,
                      c.block(0, c.rows, start - first, width));
  }
}

// c += a b for the rows [first, first + a.cols) of b, which is in panels. a [rows, depth], c [rows, padded
// columns].
template <class T>
void multiply_add(Strided<T> c, Strided<const T> a, const Panels<T>& b, Index first) {
  for (Index p = 0; p < b.count(); ++p) {
    const auto [start, width] = b.range(p);
    multiply_panel<T>(b.panel(p, first, a.cols), a.transposed(), Start::kKeep,
                      c.block(0, c.rows, start, width));
  }
}

// The part of a tile's row that is visible; the rest of the row becomes 0.
struct Visible {
  Index first, count;  // keys, counted from the tile's first
};
inline Visible visible(const Tile& t, const KeyRanges& ranges, Index i) {
  const auto a = static_cast<std::size_t>(t.row0 + i);
  const Index first = std::clamp<Index>(ranges.begin[a], t.key0, t.key1) - t.key0,
              last = std::clamp<Index>(ranges.end[a], t.key0, t.key1) - t.key0;
  return {first, std::max<Index>(last - first, 0)};
}

template <class T>
std::span<T> cleared_around(Strided<T> scores, Visible visible, Index i) {
  const std::span<T> row(scores.at(i, 0), static_cast<std::size_t>(scores.cols));
  std::fill(row.begin(), row.begin() + visible.first, T(0));
  std::fill(row.begin() + visible.first + visible.count, row.end(), T(0));
  return row.subspan(static_cast<std::size_t>(visible.first), static_cast<std::size_t>(visible.count));
}

// to += factor * from, whose rows are longer.
template <class T>
void add_scaled(Matrix<T> to, T factor, Matrix<const T> from) {
  for (Index i = 0; i < to.rows; ++i) {
    const std::span<T> row = to.row(i);
    const std::span<const T> term = from.row(i);
    for (std::size_t j = 0; j < row.size(); ++j) row[j] += factor * term[j];
  }
}

}  // namespace ringcraft::fast_detail
