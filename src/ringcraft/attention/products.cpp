// The one file that includes Eigen (see products.hpp). EIGEN_DONT_PARALLELIZE is set for it by the build: a
// rank is one thread.
#include "ringcraft/attention/products.hpp"

#include <Eigen/Core>

namespace ringcraft {
namespace {

template <class T>
using RowMajor = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

template <class T>
Eigen::Map<const RowMajor<T>> map(Matrix<const T> m) {
  return {m.data.data(), m.rows, m.cols};
}

template <class T>
Eigen::Map<RowMajor<T>> map(Matrix<T> m) {
  return {m.data.data(), m.rows, m.cols};
}

}  // namespace

template <class T>
void multiply_transposed(Matrix<const T> a, Matrix<const T> b, T factor, Matrix<T> c) {
  map(c).noalias() = factor * map(a) * map(b).transpose();
}

template <class T>
void multiply_add(Matrix<const T> a, Matrix<const T> b, T factor, Matrix<T> c) {
  map(c).noalias() += factor * map(a) * map(b);
}

template <class T>
void transposed_multiply_add(Matrix<const T> a, Matrix<const T> b, T factor, Matrix<T> c) {
  map(c).noalias() += factor * map(a).transpose() * map(b);
}

template <class T>
T maximum(std::span<const T> x) {
  return Eigen::Map<const Eigen::Array<T, Eigen::Dynamic, 1>>(x.data(), static_cast<Eigen::Index>(x.size()))
      .maxCoeff();
}

template <class T>
T exponentials(std::span<T> x, T shift) {
  Eigen::Map<Eigen::Array<T, Eigen::Dynamic, 1>> values(x.data(), static_cast<Eigen::Index>(x.size()));
  values = (values - shift).exp();
  return values.sum();
}

#define RINGCRAFT_INSTANTIATE(T)                                                         \
  template void multiply_transposed(Matrix<const T>, Matrix<const T>, T, Matrix<T>);     \
  template void multiply_add(Matrix<const T>, Matrix<const T>, T, Matrix<T>);            \
  template void transposed_multiply_add(Matrix<const T>, Matrix<const T>, T, Matrix<T>); \
  template T maximum(std::span<const T>);                                                \
  template T exponentials(std::span<T>, T)
RINGCRAFT_INSTANTIATE(float);
RINGCRAFT_INSTANTIATE(double);
#undef RINGCRAFT_INSTANTIATE

}  // namespace ringcraft
