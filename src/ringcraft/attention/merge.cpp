// Lesson 104: two partial results of attention become one (see merge.hpp). The ring and the host engine build
// on merge; it must hold for rows that one side, or both, have no key for.
#include "ringcraft/attention/merge.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "ringcraft/core/error.hpp"

namespace ringcraft {

template <class T>
void merge(Partial<T> acc, Partial<const T> block) {
  // BEGIN SOLUTION 104 [merge]
  constexpr T kNothing = -std::numeric_limits<T>::infinity();
  for (Index i = 0; i < acc.out.rows; ++i) {
    T &m = acc.max[static_cast<std::size_t>(i)], &l = acc.sum[static_cast<std::size_t>(i)];
    const T block_m = block.max[static_cast<std::size_t>(i)],
            block_l = block.sum[static_cast<std::size_t>(i)];
    const T largest = std::max(m, block_m);
    const T shift = largest == kNothing ? T(0) : largest;  // -inf - (-inf) would be NaN
    const T weight = std::exp(m - shift), block_weight = std::exp(block_m - shift);
    m = largest;
    l = weight * l + block_weight * block_l;
    const auto out = acc.out.row(i);
    const auto block_out = block.out.row(i);
    for (std::size_t j = 0; j < out.size(); ++j) out[j] = weight * out[j] + block_weight * block_out[j];
  }
  // END SOLUTION [merge]
}

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

template void merge(Partial<float>, Partial<const float>);
template void merge(Partial<double>, Partial<const double>);
template void merge_normalized(Matrix<float>, std::span<float>, Matrix<const float>, std::span<const float>);
template void merge_normalized(Matrix<double>, std::span<double>, Matrix<const double>,
                               std::span<const double>);

}  // namespace ringcraft
