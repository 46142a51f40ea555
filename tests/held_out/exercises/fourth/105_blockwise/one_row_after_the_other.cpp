// Mistake: Two mistakes. The visible keys of row i of a tile are looked up in ranges at i, counted within the tile, instead of at row0 + i; and O is multiplied with exp(m_old - m_new) after the tile's own contribution has been added, so that this contribution is rescaled too (l is rescaled in the right order).
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
    const Partial<T> state = acc.slice(t.row0, t.rows());
    multiply_transposed<T>(q.slice(t.row0, t.rows()), k.slice(t.key0, t.keys()), softmax_scale, weights);
    for (Index i = 0; i < t.rows(); ++i) {
      const auto r = static_cast<std::size_t>(i);
      const Index first = std::clamp<Index>(ranges.begin[r], t.key0, t.key1);
      const Index last = std::clamp<Index>(ranges.end[r], t.key0, t.key1);
      if (first >= last) continue;
      const std::span<T> score = weights.row(i).subspan(static_cast<std::size_t>(first - t.key0),
                                                        static_cast<std::size_t>(last - first));
      const std::span<T> sum_of_values = state.out.row(i);
      const bool fresh = state.sum[r] == T(0);
      const T old_max = state.max[r], new_max = std::max(old_max, maximum<T>(score));
      const T rescale = fresh ? T(1) : std::exp(old_max - new_max);
      const T sum = exponentials(score, new_max);
      for (std::size_t j = 0; j < score.size(); ++j) {
        const std::span<const T> value = v.row(first + static_cast<Index>(j));
        for (std::size_t c = 0; c < value.size(); ++c) sum_of_values[c] += score[j] * value[c];
      }
      for (T& x : sum_of_values) x *= rescale;
      state.sum[r] = rescale * state.sum[r] + sum;
      state.max[r] = new_max;
    }
  });
}

template void blockwise_forward(Matrix<const float>, Matrix<const float>, Matrix<const float>,
                                const KeyRanges&, float, Partial<float>, TileSize);
template void blockwise_forward(Matrix<const double>, Matrix<const double>, Matrix<const double>,
                                const KeyRanges&, double, Partial<double>, TileSize);

}  // namespace ringcraft
