// Mistake: O of every row of a tile is rescaled with one and the same factor exp(old maximum - new maximum), that of the last row of the tile that sees a key, instead of each row with its own; m and l are right.
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
    const Partial<T> mine = acc.slice(t.row0, t.rows());
    multiply_transposed<T>(q.slice(t.row0, t.rows()), k.slice(t.key0, t.keys()), softmax_scale, weights);
    T keep = 1;
    for (Index i = 0; i < t.rows(); ++i) {
      const auto r = static_cast<std::size_t>(i);
      const std::span<T> row = visible_scores(weights, t, ranges, i);
      if (row.empty()) continue;
      const T before = mine.max[r];
      mine.max[r] = std::max(before, maximum<T>(row));
      keep = std::exp(before - mine.max[r]);
      const T added = exponentials(row, mine.max[r]);
      mine.sum[r] = keep * mine.sum[r] + added;
    }
    for (Index i = 0; i < t.rows(); ++i)
      for (T& x : mine.out.row(i)) x *= keep;
    multiply_add<T>(weights, v.slice(t.key0, t.keys()), T(1), mine.out);
  });
}

template void blockwise_forward(Matrix<const float>, Matrix<const float>, Matrix<const float>,
                                const KeyRanges&, float, Partial<float>, TileSize);
template void blockwise_forward(Matrix<const double>, Matrix<const double>, Matrix<const double>,
                                const KeyRanges&, double, Partial<double>, TileSize);

}  // namespace ringcraft
