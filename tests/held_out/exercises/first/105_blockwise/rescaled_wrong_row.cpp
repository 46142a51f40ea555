// Mistake: When the maximum of row t.row0 + i grows, row i of acc.out is rescaled instead of row t.row0 + i; m and l are right.
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
    multiply_transposed<T>(q.slice(t.row0, t.rows()), k.slice(t.key0, t.keys()), softmax_scale, weights);
    for (Index i = 0; i < t.rows(); ++i) {
      const std::span<T> seen = visible_scores(weights, t, ranges, i);
      if (seen.empty()) continue;
      const auto a = static_cast<std::size_t>(t.row0 + i);
      const T before = acc.max[a];
      const T now = std::max(before, maximum<T>(seen));
      const T factor = std::exp(before - now);
      acc.max[a] = now;
      acc.sum[a] = acc.sum[a] * factor + exponentials(seen, now);
      for (T& x : acc.out.row(i)) x *= factor;
    }
    multiply_add<T>(weights, v.slice(t.key0, t.keys()), T(1), acc.out.slice(t.row0, t.rows()));
  });
}

template void blockwise_forward(Matrix<const float>, Matrix<const float>, Matrix<const float>,
                                const KeyRanges&, float, Partial<float>, TileSize);
template void blockwise_forward(Matrix<const double>, Matrix<const double>, Matrix<const double>,
                                const KeyRanges&, double, Partial<double>, TileSize);

}  // namespace ringcraft
