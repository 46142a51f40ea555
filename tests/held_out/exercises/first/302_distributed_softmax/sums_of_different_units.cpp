// Mistake: l of a row is the plain sum of the l of all ranks, each counted from its own maximum, instead of the sum of l times exp(m of the rank - m of the row).
// Lesson 302: softmax of rows that lie on many ranks, by an all-reduce of (m, l).
#include "ringcraft/ring/distributed_softmax.hpp"

#include <cmath>
#include <limits>

#include "ringcraft/comm/collectives.hpp"

namespace ringcraft {

template <class T>
std::vector<SoftmaxState<T>> distributed_softmax(Communicator& comm, Matrix<const T> scores,
                                                 Matrix<T> weights) {
  const auto rows = static_cast<std::size_t>(scores.rows);
  std::vector<SoftmaxState<T>> own(rows);
  for (std::size_t i = 0; i < rows; ++i) own[i] = online_scan<T>(scores.row(static_cast<Index>(i)));

  std::vector<SoftmaxState<T>> all(rows * static_cast<std::size_t>(comm.world_size()));
  all_gather(comm, std::as_bytes(std::span(own)), std::as_writable_bytes(std::span(all)));

  std::vector<SoftmaxState<T>> whole(rows);
  for (std::size_t i = 0; i < rows; ++i) {
    SoftmaxState<T>& w = whole[i];
    for (std::size_t at = i; at < all.size(); at += rows)
      if (all[at].max > w.max) w.max = all[at].max;
    if (w.max == -std::numeric_limits<T>::infinity()) {
      for (T& x : weights.row(static_cast<Index>(i))) x = T(0);
      continue;
    }
    for (std::size_t at = i; at < all.size(); at += rows) w.sum += all[at].sum;

    const std::span<const T> from = scores.row(static_cast<Index>(i));
    const std::span<T> to = weights.row(static_cast<Index>(i));
    for (std::size_t j = 0; j < to.size(); ++j) to[j] = std::exp(from[j] - w.max) / w.sum;
  }
  return whole;
}

template std::vector<SoftmaxState<float>> distributed_softmax(Communicator&, Matrix<const float>,
                                                              Matrix<float>);
template std::vector<SoftmaxState<double>> distributed_softmax(Communicator&, Matrix<const double>,
                                                               Matrix<double>);

}  // namespace ringcraft
