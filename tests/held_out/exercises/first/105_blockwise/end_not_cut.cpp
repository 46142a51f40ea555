// Mistake: The keys of a row are taken up to the end of its range instead of up to the end of the tile, so keys behind a tile are counted again in each tile before them.
// Lesson 105: attention tile by tile, in linear memory (see blockwise.hpp). The loop over tiles is in
// tiles.hpp; what happens inside of one is online softmax for a few rows and keys at a time.
#include <algorithm>
#include <cmath>

#include "ringcraft/attention/blockwise.hpp"
#include "ringcraft/attention/products.hpp"
#include "ringcraft/attention/tiles.hpp"
#include "ringcraft/core/error.hpp"

namespace ringcraft {
namespace {

template <class T>
T dot_product(std::span<const T> x, std::span<const T> y) {
  T s = 0;
  for (std::size_t n = 0; n < x.size(); ++n) s += x[n] * y[n];
  return s;
}

}  // namespace

template <class T>
void blockwise_forward(Matrix<const T> q, Matrix<const T> k, Matrix<const T> v, const KeyRanges& ranges,
                       T softmax_scale, Partial<T> acc, TileSize tile) {
  const TileSize size = clipped(tile, q.rows, k.rows);
  TileMemory<T> memory(size);
  for_each_tile(ranges, k.rows, size, [&](const TileBounds& t) {
    [[maybe_unused]] const Matrix<T> weights = memory.fit(t);  // [rows of the tile, keys of the tile]
    // key by key, as in lesson 103; the tile's matrix is not needed
    for (Index a = t.row0; a < t.row1; ++a) {
      const auto n = static_cast<std::size_t>(a);
      const Index first = std::max<Index>(ranges.begin[n], t.key0);
      const Index last = ranges.end[n];
      const std::span<T> o = acc.out.row(a);
      for (Index b = first; b < last; ++b) {
        const T s = softmax_scale * dot_product<T>(q.row(a), k.row(b));
        if (s > acc.max[n]) {
          const T f = std::exp(acc.max[n] - s);
          acc.sum[n] *= f;
          for (T& x : o) x *= f;
          acc.max[n] = s;
        }
        const T w = std::exp(s - acc.max[n]);
        acc.sum[n] += w;
        const auto value = v.row(b);
        for (std::size_t c = 0; c < o.size(); ++c) o[c] += w * value[c];
      }
    }
  });
}

template void blockwise_forward(Matrix<const float>, Matrix<const float>, Matrix<const float>,
                                const KeyRanges&, float, Partial<float>, TileSize);
template void blockwise_forward(Matrix<const double>, Matrix<const double>, Matrix<const double>,
                                const KeyRanges&, double, Partial<double>, TileSize);

}  // namespace ringcraft
