// BL3: sums up a whole row of the tile's memory, behind the last key as well.
// Fails: any-tile "tiles of"
// Hint: What lies in the tile's memory behind the last valid key?
#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "ringcraft/attention/blockwise.hpp"
#include "ringcraft/attention/products.hpp"
#include "ringcraft/attention/tiles.hpp"

namespace ringcraft {

template <class T>
void blockwise_forward(Matrix<const T> q, Matrix<const T> k, Matrix<const T> v, const KeyRanges& ranges,
                       T softmax_scale, Partial<T> acc, TileSize tile) {
  const TileSize size = clipped(tile, q.rows, k.rows);
  TileMemory<T> memory(size);
  std::vector<T> seen(static_cast<std::size_t>(size.keys), T(0));
  for_each_tile(ranges, k.rows, size, [&](const TileBounds& t) {
    const Matrix<T> weights = memory.fit(t);
    multiply_transposed<T>(q.slice(t.row0, t.rows()), k.slice(t.key0, t.keys()), softmax_scale, weights);
    const Partial<T> state = acc.slice(t.row0, t.rows());
    for (Index i = 0; i < t.rows(); ++i) {
      const std::span<T> row = visible_scores(weights, t, ranges, i);
      if (row.empty()) continue;
      T &m = state.max[static_cast<std::size_t>(i)], &l = state.sum[static_cast<std::size_t>(i)];
      const T largest = std::max(m, maximum<T>(row));
      if (largest > m) {
        const T rescale = std::exp(m - largest);
        for (T& x : state.out.row(i)) x *= rescale;
        l *= rescale;
        m = largest;
      }
      exponentials(row, m);
      std::copy(weights.row(i).begin(), weights.row(i).end(), seen.begin());
      l += std::accumulate(seen.begin(), seen.end(), T(0));
    }
    multiply_add<T>(weights, v.slice(t.key0, t.keys()), T(1), state.out);
  });
}

template void blockwise_forward(Matrix<const float>, Matrix<const float>, Matrix<const float>,
                                const KeyRanges&, float, Partial<float>, TileSize);
template void blockwise_forward(Matrix<const double>, Matrix<const double>, Matrix<const double>,
                                const KeyRanges&, double, Partial<double>, TileSize);

}  // namespace ringcraft
