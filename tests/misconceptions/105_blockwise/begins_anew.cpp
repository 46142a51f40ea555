// ST1: throws away what the state has seen before this call.
// Fails: adds-to-the-state "keys 0 to 6, then 7 to 13"
// Hint: What was there before your call, and who put it there?
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
  std::fill(acc.out.data.begin(), acc.out.data.end(), T(0));
  std::fill(acc.max.begin(), acc.max.end(), -std::numeric_limits<T>::infinity());
  std::fill(acc.sum.begin(), acc.sum.end(), T(0));
  for_each_tile(ranges, k.rows, size, [&](const TileBounds& t) {
    const Matrix<T> weights = memory.fit(t);  // [rows of the tile, keys of the tile]
    multiply_transposed<T>(q.slice(t.row0, t.rows()), k.slice(t.key0, t.keys()), softmax_scale, weights);
    const Partial<T> state = acc.slice(t.row0, t.rows());
    for (Index i = 0; i < t.rows(); ++i) {
      const std::span<T> row = visible_scores(weights, t, ranges, i);
      if (row.empty()) continue;
      T &m = state.max[static_cast<std::size_t>(i)], &l = state.sum[static_cast<std::size_t>(i)];
      const T largest = std::max(m, *std::max_element(row.begin(), row.end()));
      if (largest > m) {
        const T rescale = std::exp(m - largest);
        for (T& x : state.out.row(i)) x *= rescale;
        l *= rescale;
        m = largest;
      }
      l += exponentials(row, m);
    }
    multiply_add<T>(weights, v.slice(t.key0, t.keys()), T(1), state.out);
  });
}

template void blockwise_forward(Matrix<const float>, Matrix<const float>, Matrix<const float>,
                                const KeyRanges&, float, Partial<float>, TileSize);
template void blockwise_forward(Matrix<const double>, Matrix<const double>, Matrix<const double>,
                                const KeyRanges&, double, Partial<double>, TileSize);

}  // namespace ringcraft
