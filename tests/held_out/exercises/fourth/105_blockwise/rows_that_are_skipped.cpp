// Mistake: For a row that sees no key of a tile (which other rows of the tile do see) the row of `weights` is left holding raw scores instead of zeros, and the product with v adds these scores times v to the row's O; m and l are right.
// Lesson 105: attention tile by tile, in linear memory (see blockwise.hpp). The loop over tiles is in
// tiles.hpp; what happens inside of one is online softmax for a few rows and keys at a time.
#include <algorithm>
#include <cmath>

#include "ringcraft/attention/blockwise.hpp"
#include "ringcraft/attention/products.hpp"
#include "ringcraft/attention/tiles.hpp"
#include "ringcraft/core/error.hpp"

namespace ringcraft {

template <class T>
void blockwise_forward(Matrix<const T> q, Matrix<const T> k, Matrix<const T> v, const KeyRanges& ranges,
                       T softmax_scale, Partial<T> acc, TileSize tile) {
  const TileSize size = clipped(tile, q.rows, k.rows);
  TileMemory<T> memory(size);
  for_each_tile(ranges, k.rows, size, [&](const TileBounds& t) {
    [[maybe_unused]] const Matrix<T> weights = memory.fit(t);  // [rows of the tile, keys of the tile]
    const Index rows = t.rows(), keys = t.keys();
    multiply_transposed<T>(q.slice(t.row0, rows), k.slice(t.key0, keys), softmax_scale, weights);
    for (Index i = 0; i < rows; ++i) {
      const auto a = static_cast<std::size_t>(t.row0 + i);
      const Index from = std::max<Index>(ranges.begin[a] - t.key0, 0);
      const Index to = std::min<Index>(ranges.end[a] - t.key0, keys);
      if (from >= to) continue;
      const std::span<T> row = weights.row(i);
      const std::span<T> visible =
          row.subspan(static_cast<std::size_t>(from), static_cast<std::size_t>(to - from));
      const T before = acc.max[a], after = std::max(before, maximum<T>(visible));
      const T sum = exponentials(visible, after);
      const T follow = std::exp(before - after);
      std::fill(row.begin(), row.begin() + from, T(0));
      std::fill(row.begin() + to, row.end(), T(0));
      for (T& x : acc.out.row(t.row0 + i)) x *= follow;
      acc.sum[a] = follow * acc.sum[a] + sum;
      acc.max[a] = after;
    }
    multiply_add<T>(weights, v.slice(t.key0, keys), T(1), acc.out.slice(t.row0, rows));
  });
}

template void blockwise_forward(Matrix<const float>, Matrix<const float>, Matrix<const float>,
                                const KeyRanges&, float, Partial<float>, TileSize);
template void blockwise_forward(Matrix<const double>, Matrix<const double>, Matrix<const double>,
                                const KeyRanges&, double, Partial<double>, TileSize);

}  // namespace ringcraft
