// Mistake: The keys of a tile that a row does not see keep their raw scores as weights instead of 0 when the tile is multiplied with v; m and l are right.
// Lesson 105: attention tile by tile, in linear memory (see blockwise.hpp). The loop over tiles is in
// tiles.hpp; what happens inside of one is online softmax for a few rows and keys at a time.
#include <algorithm>
#include <cmath>

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
      const auto a = static_cast<std::size_t>(t.row0 + i), r = static_cast<std::size_t>(i);
      const Index first = std::clamp<Index>(ranges.begin[a], t.key0, t.key1) - t.key0;
      const Index last = std::max(first, std::clamp<Index>(ranges.end[a], t.key0, t.key1) - t.key0);
      const std::span<T> row = weights.row(i);
      if (first == last) continue;

      const std::span<T> seen = row.subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(last - first));
      const T largest = std::max(state.max[r], maximum<T>(seen));
      const T factor = std::exp(state.max[r] - largest);
      for (T& x : state.out.row(i)) x *= factor;
      state.sum[r] = factor * state.sum[r] + exponentials<T>(seen, largest);
      state.max[r] = largest;
    }
    multiply_add<T>(weights, v.slice(t.key0, t.keys()), T(1), state.out);
  });
}

template void blockwise_forward(Matrix<const float>, Matrix<const float>, Matrix<const float>,
                                const KeyRanges&, float, Partial<float>, TileSize);
template void blockwise_forward(Matrix<const double>, Matrix<const double>, Matrix<const double>,
                                const KeyRanges&, double, Partial<double>, TileSize);

}  // namespace ringcraft
