// Mistake: The new maximum of a row is that of the present tile alone instead of the larger one of it and the running maximum; m ends as the maximum of the last visible tile, and the rescaling factor exp(m - new) overflows where an earlier tile had far larger scores.
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
    const Matrix<const T> keys = k.slice(t.key0, t.keys()), values = v.slice(t.key0, t.keys());
    multiply_transposed<T>(q.slice(t.row0, t.rows()), keys, softmax_scale, weights);
    for (Index i = 0; i < t.rows(); ++i) {
      const std::span<T> seen = visible_scores(weights, t, ranges, i);
      if (seen.empty()) continue;
      const auto a = static_cast<std::size_t>(t.row0 + i);
      const T largest = *std::max_element(seen.begin(), seen.end());
      const T rescale = std::exp(acc.max[a] - largest);
      acc.max[a] = largest;
      acc.sum[a] = rescale * acc.sum[a] + exponentials(seen, largest);
      for (T& x : acc.out.row(t.row0 + i)) x *= rescale;
    }
    multiply_add<T>(weights, values, T(1), acc.out.slice(t.row0, t.rows()));
  });
}

template void blockwise_forward(Matrix<const float>, Matrix<const float>, Matrix<const float>,
                                const KeyRanges&, float, Partial<float>, TileSize);
template void blockwise_forward(Matrix<const double>, Matrix<const double>, Matrix<const double>,
                                const KeyRanges&, double, Partial<double>, TileSize);

}  // namespace ringcraft
