// SS2: the larger maximum of the whole tile is taken for every row, -inf or not.
// Fails: one-sided-rows
// Hint: Each row is its own softmax: whose maximum may row i use?
#include <algorithm>
#include <cmath>
#include <limits>

#include "ringcraft/attention/merge.hpp"

namespace ringcraft {

template <class T>
void merge(Partial<T> acc, Partial<const T> block) {
  T top = -std::numeric_limits<T>::infinity();
  for (const auto& maxima : {std::span<const T>(acc.max), std::span<const T>(block.max)})
    for (const T m : maxima) top = std::max(top, m);
  for (Index i = 0; i < acc.out.rows; ++i) {
    const auto a = static_cast<std::size_t>(i);
    const T m1 = acc.max[a], m2 = block.max[a], l1 = acc.sum[a], l2 = block.sum[a];
    const T w1 = std::exp(m1 - top), w2 = std::exp(m2 - top);
    for (Index j = 0; j < acc.out.cols; ++j) acc.out(i, j) = w1 * acc.out(i, j) + w2 * block.out(i, j);
    acc.max[a] = top;
    acc.sum[a] = w1 * l1 + w2 * l2;
  }
}

template void merge(Partial<float>, Partial<const float>);
template void merge(Partial<double>, Partial<const double>);

}  // namespace ringcraft
