// Lets lesson 101 do it.
// Fails: belongs "calls ringcraft::dense_forward, which lesson 105 does not give you"
#include "ringcraft/attention/blockwise.hpp"
#include "ringcraft/attention/dense.hpp"

namespace ringcraft {

template <class T>
void blockwise_forward(Matrix<const T> q, Matrix<const T> k, Matrix<const T> v, const KeyRanges& ranges,
                       T softmax_scale, Partial<T> acc, TileSize) {
  dense_forward<T>(q, k, v, ranges, softmax_scale, acc.out, acc.max);
  for (T& l : acc.sum) l = T(1);
}

template void blockwise_forward(Matrix<const float>, Matrix<const float>, Matrix<const float>,
                                const KeyRanges&, float, Partial<float>, TileSize);
template void blockwise_forward(Matrix<const double>, Matrix<const double>, Matrix<const double>,
                                const KeyRanges&, double, Partial<double>, TileSize);

}  // namespace ringcraft
