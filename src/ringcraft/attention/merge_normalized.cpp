// The merge of results that are divided already, (out, lse) (see merge.hpp): the form in which attention
// libraries hand over their results. It is merge with l = 1 on both sides, and divides again.
#include <algorithm>
#include <cmath>
#include <limits>

#include "ringcraft/attention/merge.hpp"

namespace ringcraft {

template <class T>
void merge_normalized(Matrix<T> out, std::span<T> lse, Matrix<const T> block_out,
                      std::span<const T> block_lse) {
  constexpr T kNothing = -std::numeric_limits<T>::infinity();
  for (Index i = 0; i < out.rows; ++i) {
    T& mine = lse[static_cast<std::size_t>(i)];
    const T other = block_lse[static_cast<std::size_t>(i)], largest = std::max(mine, other);
    if (mine == kNothing && other == kNothing) continue;  // neither side has seen a key
    const T weight = std::exp(mine - largest), block_weight = std::exp(other - largest),
            norm = weight + block_weight;
    const auto row = out.row(i);
    const auto block_row = block_out.row(i);
    for (std::size_t j = 0; j < row.size(); ++j)
      row[j] = (weight * row[j] + block_weight * block_row[j]) / norm;
    mine = largest + std::log(norm);
  }
}

template void merge_normalized(Matrix<float>, std::span<float>, Matrix<const float>, std::span<const float>);
template void merge_normalized(Matrix<double>, std::span<double>, Matrix<const double>,
                               std::span<const double>);

}  // namespace ringcraft
