// The frame of the loops over tiles: begin and end of a forward pass, and the inputs of a backward pass for
// every row.
#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "ringcraft/attention/blockwise.hpp"
#include "ringcraft/core/error.hpp"

namespace ringcraft {

void TileSize::validate() const {
  if (rows < 1 || keys < 1)
    throw Error("tile size", "at least 1 row and 1 key", std::to_string(rows) + " x " + std::to_string(keys),
                "leave it out to get the usual one");
}

template <class T>
void set_identity(Partial<T> acc) {
  std::fill(acc.out.data.begin(), acc.out.data.end(), T(0));
  std::fill(acc.max.begin(), acc.max.end(), -std::numeric_limits<T>::infinity());
  std::fill(acc.sum.begin(), acc.sum.end(), T(0));
}

template <class T>
void finish(Partial<T> acc) {
  for (Index i = 0; i < acc.out.rows; ++i) {
    const T l = acc.sum[static_cast<std::size_t>(i)];
    if (l == T(0)) continue;  // no key: O is 0 and m is -inf already
    for (T& x : acc.out.row(i)) x /= l;
    acc.max[static_cast<std::size_t>(i)] += std::log(l);
  }
}

template <class T>
void row_delta(Matrix<const T> out, Matrix<const T> dout, std::span<T> delta) {
  for (Index i = 0; i < out.rows; ++i) {
    T sum = 0;
    for (Index j = 0; j < out.cols; ++j) sum += out(i, j) * dout(i, j);
    delta[static_cast<std::size_t>(i)] = sum;
  }
}

template void set_identity(Partial<float>);
template void set_identity(Partial<double>);
template void finish(Partial<float>);
template void finish(Partial<double>);
template void row_delta(Matrix<const float>, Matrix<const float>, std::span<float>);
template void row_delta(Matrix<const double>, Matrix<const double>, std::span<double>);

}  // namespace ringcraft
