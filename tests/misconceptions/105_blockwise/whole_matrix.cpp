// MM1: right numbers, but all the scores are in memory at once: rows times keys.
// Fails: long-sequence "each process may take 192 MB in this check"
// Hint: How many numbers does your memory hold for a million keys, and for how long do you need each?
#include <algorithm>
#include <cmath>
#include <vector>

#include "ringcraft/attention/blockwise.hpp"
#include "ringcraft/attention/products.hpp"

namespace ringcraft {

template <class T>
void blockwise_forward(Matrix<const T> q, Matrix<const T> k, Matrix<const T> v, const KeyRanges& ranges,
                       T softmax_scale, Partial<T> acc, TileSize) {
  std::vector<T> memory(static_cast<std::size_t>(q.rows * k.rows));
  const Matrix<T> weights{memory, q.rows, k.rows};
  multiply_transposed<T>(q, k, softmax_scale, weights);
  for (Index i = 0; i < q.rows; ++i) {
    const auto a = static_cast<std::size_t>(i);
    const auto first = static_cast<std::size_t>(ranges.begin[a]),
               last = static_cast<std::size_t>(ranges.end[a]);
    const std::span<T> row = weights.row(i).subspan(first, last - first);
    if (row.empty()) continue;
    T &m = acc.max[a], &l = acc.sum[a];
    const T largest = std::max(m, *std::max_element(row.begin(), row.end())), rescale = std::exp(m - largest);
    for (T& x : acc.out.row(i)) x *= rescale;
    l = l * rescale + exponentials(row, largest);
    m = largest;
    for (std::size_t j = 0; j < row.size(); ++j)
      for (Index c = 0; c < v.cols; ++c)
        acc.out(i, c) += row[j] * v(ranges.begin[a] + static_cast<Index>(j), c);
  }
}

template void blockwise_forward(Matrix<const float>, Matrix<const float>, Matrix<const float>,
                                const KeyRanges&, float, Partial<float>, TileSize);
template void blockwise_forward(Matrix<const double>, Matrix<const double>, Matrix<const double>,
                                const KeyRanges&, double, Partial<double>, TileSize);

}  // namespace ringcraft
