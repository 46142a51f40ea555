// Equivalent: keeps O divided by l, 1 for l and lse for the maximum; the state is a partial result still.
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
    const Matrix<T> weights = memory.fit(t);
    multiply_transposed<T>(q.slice(t.row0, t.rows()), k.slice(t.key0, t.keys()), softmax_scale, weights);
    const Partial<T> state = acc.slice(t.row0, t.rows());
    for (Index i = 0; i < t.rows(); ++i) {
      const std::span<T> row = visible_scores(weights, t, ranges, i);
      if (row.empty()) continue;
      T &lse = state.max[static_cast<std::size_t>(i)], &l = state.sum[static_cast<std::size_t>(i)];
      const T before = lse + std::log(l);  // -inf for a row that has seen nothing
      const T largest = std::max(before, *std::max_element(row.begin(), row.end()));
      T sum = std::exp(before - largest);
      for (const T s : row) sum += std::exp(s - largest);
      const T after = largest + std::log(sum);
      const T share = l > T(0) ? std::exp(lse - after) : T(0);
      for (T& x : state.out.row(i)) x *= share;
      for (T& s : row) s = std::exp(s - after);
      lse = after;
      l = T(1);
    }
    multiply_add<T>(weights, v.slice(t.key0, t.keys()), T(1), state.out);
  });
}

template void blockwise_forward(Matrix<const float>, Matrix<const float>, Matrix<const float>,
                                const KeyRanges&, float, Partial<float>, TileSize);
template void blockwise_forward(Matrix<const double>, Matrix<const double>, Matrix<const double>,
                                const KeyRanges&, double, Partial<double>, TileSize);

}  // namespace ringcraft
