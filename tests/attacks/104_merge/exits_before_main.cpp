// A global object ends the process before main.
// Fails: two-halves "ended itself with exit code 0, while the variables outside of its functions were initialised, before call 1 of merge"
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "ringcraft/attention/merge.hpp"

namespace ringcraft {
namespace {
const struct Quick {
  Quick() { ::_exit(0); }
} quick;
}  // namespace

template <class T>
void merge(Partial<T> acc, Partial<const T> block) {
  for (Index i = 0; i < acc.out.rows; ++i) {
    T &m = acc.max[static_cast<std::size_t>(i)], &l = acc.sum[static_cast<std::size_t>(i)];
    const T block_m = block.max[static_cast<std::size_t>(i)],
            block_l = block.sum[static_cast<std::size_t>(i)];
    const T largest = std::max(m, block_m);
    const T shift = largest == -std::numeric_limits<T>::infinity() ? T(0) : largest;
    const T weight = std::exp(m - shift), block_weight = std::exp(block_m - shift);
    m = largest;
    l = weight * l + block_weight * block_l;
    for (Index j = 0; j < acc.out.cols; ++j)
      acc.out(i, j) = weight * acc.out(i, j) + block_weight * block.out(i, j);
  }
}

template void merge(Partial<float>, Partial<const float>);
template void merge(Partial<double>, Partial<const double>);

}  // namespace ringcraft
