// Mistake: The search for a row's maximum over the ranks starts from std::numeric_limits<T>::min() (the smallest positive number) instead of -infinity, so rows whose scores are all negative (or all -inf) get m = ~0 instead of their maximum, with l relative to that m (down to 0 by underflow, and then weights 0).
// Lesson 302: softmax of rows that lie on many ranks, by an all-reduce of (m, l).
#include "ringcraft/ring/distributed_softmax.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "ringcraft/comm/collectives.hpp"
#include "ringcraft/core/error.hpp"

namespace ringcraft {

template <class T>
std::vector<SoftmaxState<T>> distributed_softmax(Communicator& comm, Matrix<const T> scores,
                                                 Matrix<T> weights) {
  const std::size_t rows = static_cast<std::size_t>(scores.rows);
  const std::size_t ranks = static_cast<std::size_t>(comm.world_size());
  std::vector<SoftmaxState<T>> mine(rows), table(rows * ranks), whole(rows);
  for (std::size_t i = 0; i < rows; ++i) mine[i] = online_scan(scores.row(static_cast<Index>(i)));
  all_gather(comm, std::as_bytes(std::span(mine)), std::as_writable_bytes(std::span(table)));

  for (std::size_t i = 0; i < rows; ++i) {
    // First the maximum of the whole row ...
    T top = std::numeric_limits<T>::min();
    for (std::size_t r = 0; r < ranks; ++r) top = std::max(top, table[r * rows + i].max);
    // ... then every rank's sum in its unit, rank 0 first.
    T total = 0;
    for (std::size_t r = 0; r < ranks; ++r) {
      const SoftmaxState<T>& part = table[r * rows + i];
      if (part.sum > T(0)) total += std::exp(part.max - top) * part.sum;
    }
    whole[i] = {top, total};

    const Index row = static_cast<Index>(i);
    for (Index j = 0; j < scores.cols; ++j)
      weights(row, j) = total > T(0) ? std::exp(scores(row, j) - top) / total : T(0);
  }
  return whole;
}

template std::vector<SoftmaxState<float>> distributed_softmax(Communicator&, Matrix<const float>,
                                                              Matrix<float>);
template std::vector<SoftmaxState<double>> distributed_softmax(Communicator&, Matrix<const double>,
                                                               Matrix<double>);

}  // namespace ringcraft
