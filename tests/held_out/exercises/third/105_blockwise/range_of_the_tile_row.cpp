// Mistake: the range of keys that a row sees is looked up with the row's number within its tile (ranges.begin[i], ranges.end[i]) instead of its number among all rows (t.row0 + i), so row tiles behind the first are masked like the first one.
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
      const auto r = static_cast<std::size_t>(i);
      const std::span<T> all = weights.row(i);
      const Index first = std::clamp<Index>(ranges.begin[r], t.key0, t.key1) - t.key0;
      const Index last = std::max(first, std::clamp<Index>(ranges.end[r], t.key0, t.key1) - t.key0);
      std::fill(all.begin(), all.begin() + first, T(0));
      std::fill(all.begin() + last, all.end(), T(0));
      if (first == last) continue;
      const auto seen = all.subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(last - first));

      const auto row = static_cast<std::size_t>(t.row0 + i);
      const T before = acc.max[row];
      const T now = std::max(before, *std::max_element(seen.begin(), seen.end()));
      const T keep = std::exp(before - now);
      acc.max[row] = now;
      acc.sum[row] *= keep;
      for (T& x : acc.out.row(t.row0 + i)) x *= keep;
      for (T& x : seen) {
        x = std::exp(x - now);
        acc.sum[row] += x;
      }
    }
    multiply_add<T>(weights, v.slice(t.key0, t.keys()), T(1), acc.out.slice(t.row0, t.rows()));
  });
}

template void blockwise_forward(Matrix<const float>, Matrix<const float>, Matrix<const float>,
                                const KeyRanges&, float, Partial<float>, TileSize);
template void blockwise_forward(Matrix<const double>, Matrix<const double>, Matrix<const double>,
                                const KeyRanges&, double, Partial<double>, TileSize);

}  // namespace ringcraft
