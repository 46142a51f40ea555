// Equivalent: every tile becomes a partial result of its own, which lesson 104's merge adds to the state.
#include <algorithm>
#include <cmath>
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
  std::vector<T> out(static_cast<std::size_t>(size.rows * q.cols)), max(static_cast<std::size_t>(size.rows)),
      sum(static_cast<std::size_t>(size.rows));
  for_each_tile(ranges, k.rows, size, [&](const TileBounds& t) {
    const Matrix<T> weights = memory.fit(t);
    multiply_transposed<T>(q.slice(t.row0, t.rows()), k.slice(t.key0, t.keys()), softmax_scale, weights);
    const Partial<T> part = Partial<T>{{out, size.rows, q.cols}, max, sum}.slice(0, t.rows());
    set_identity(part);
    for (Index i = 0; i < t.rows(); ++i) {
      const auto a = static_cast<std::size_t>(i);
      const std::span<T> row = visible_scores(weights, t, ranges, i);
      if (row.empty()) continue;
      part.max[a] = *std::max_element(row.begin(), row.end());
      part.sum[a] = exponentials(row, part.max[a]);
    }
    multiply_add<T>(weights, v.slice(t.key0, t.keys()), T(1), part.out);
    merge<T>(acc.slice(t.row0, t.rows()), part);
  });
}

template void blockwise_forward(Matrix<const float>, Matrix<const float>, Matrix<const float>,
                                const KeyRanges&, float, Partial<float>, TileSize);
template void blockwise_forward(Matrix<const double>, Matrix<const double>, Matrix<const double>,
                                const KeyRanges&, double, Partial<double>, TileSize);

}  // namespace ringcraft
