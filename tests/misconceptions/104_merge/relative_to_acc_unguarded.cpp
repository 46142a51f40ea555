// MG7: everything relative to the maximum of acc, even if that is -inf.
// Fails: extreme-maxima, nothing-on-one-side
// Hint: Which of the two maxima may be the larger one inside exp?
#include <cmath>

#include "ringcraft/attention/merge.hpp"

namespace ringcraft {

template <class T>
void merge(Partial<T> acc, Partial<const T> block) {
  for (Index i = 0; i < acc.out.rows; ++i) {
    const auto a = static_cast<std::size_t>(i);
    const T m1 = acc.max[a], m2 = block.max[a], l1 = acc.sum[a], l2 = block.sum[a];
    const T w2 = std::exp(m2 - m1), w1 = 1;
    for (Index j = 0; j < acc.out.cols; ++j) acc.out(i, j) = w1 * acc.out(i, j) + w2 * block.out(i, j);
    acc.sum[a] = w1 * l1 + w2 * l2;
  }
}

template void merge(Partial<float>, Partial<const float>);
template void merge(Partial<double>, Partial<const double>);

}  // namespace ringcraft
