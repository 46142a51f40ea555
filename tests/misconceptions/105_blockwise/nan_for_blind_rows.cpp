// OS8: masked scores are -inf; a row without any other has a maximum of -inf, and -inf - (-inf) is NaN.
// Fails: blind-rows "sees no key, and its l is"
// Hint: What is your correction factor before anything was seen?
#include <algorithm>
#include <cmath>
#include <limits>

#include "ringcraft/attention/blockwise.hpp"
#include "ringcraft/attention/products.hpp"
#include "ringcraft/attention/tiles.hpp"

namespace ringcraft {

template <class T>
void blockwise_forward(Matrix<const T> q, Matrix<const T> k, Matrix<const T> v, const KeyRanges& ranges,
                       T softmax_scale, Partial<T> acc, TileSize tile) {
  const TileSize size = clipped(tile, q.rows, k.rows);
  TileMemory<T> memory(size);
  for_each_tile(ranges, k.rows, size, [&](const TileBounds& t) {
    const Matrix<T> weights = memory.fit(t);  // [rows of the tile, keys of the tile]
    multiply_transposed<T>(q.slice(t.row0, t.rows()), k.slice(t.key0, t.keys()), softmax_scale, weights);
    const Partial<T> state = acc.slice(t.row0, t.rows());
    for (Index i = 0; i < t.rows(); ++i) {
      const std::span<T> row = weights.row(i);
      const auto a = static_cast<std::size_t>(t.row0 + i);
      for (Index j = 0; j < t.keys(); ++j)
        if (t.key0 + j < ranges.begin[a] || ranges.end[a] <= t.key0 + j)
          weights(i, j) = -std::numeric_limits<T>::infinity();
      T &m = state.max[static_cast<std::size_t>(i)], &l = state.sum[static_cast<std::size_t>(i)];
      const T largest = std::max(m, *std::max_element(row.begin(), row.end()));
      {
        const T rescale = std::exp(m - largest);
        for (T& x : state.out.row(i)) x *= rescale;
        l *= rescale;
        m = largest;
      }
      for (T& x : row) {
        x = std::exp(x - m);
        l += x;
      }
    }
    multiply_add<T>(weights, v.slice(t.key0, t.keys()), T(1), state.out);
  });
}

template void blockwise_forward(Matrix<const float>, Matrix<const float>, Matrix<const float>,
                                const KeyRanges&, float, Partial<float>, TileSize);
template void blockwise_forward(Matrix<const double>, Matrix<const double>, Matrix<const double>,
                                const KeyRanges&, double, Partial<double>, TileSize);

}  // namespace ringcraft
