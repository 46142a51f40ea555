// Mistake: a rank without columns announces for every row a maximum of 0 (with sum 0) instead of minus infinity, so the maximum of a row is never below 0 wherever some rank has no columns: wrong states, and weights of 0 where all scores lie far below 0.
// Lesson 302: softmax of rows that lie on many ranks, by an all-reduce of (m, l).
#include "ringcraft/ring/distributed_softmax.hpp"

#include <cmath>
#include <limits>

#include "ringcraft/comm/collectives.hpp"
#include "ringcraft/core/error.hpp"

namespace ringcraft {

namespace {

// Maximum first, then the sum of the exponentials below it.
template <class T>
SoftmaxState<T> scan(std::span<const T> scores) {
  SoftmaxState<T> state{.max = scores.empty() ? T(0) : scores.front(), .sum = T(0)};
  for (const T s : scores) state.max = s > state.max ? s : state.max;
  for (const T s : scores)
    if (s > -std::numeric_limits<T>::infinity()) state.sum += std::exp(s - state.max);
  return state;
}

}  // namespace

template <class T>
std::vector<SoftmaxState<T>> distributed_softmax(Communicator& comm, Matrix<const T> scores,
                                                 Matrix<T> weights) {
  const Index rows = scores.rows, n = comm.world_size();
  std::vector<SoftmaxState<T>> mine(static_cast<std::size_t>(rows)), all(static_cast<std::size_t>(rows * n));
  for (Index i = 0; i < rows; ++i) mine[static_cast<std::size_t>(i)] = scan(scores.row(i));
  all_gather(comm, std::as_bytes(std::span(mine)), std::as_writable_bytes(std::span(all)));

  for (Index i = 0; i < rows; ++i) {
    SoftmaxState<T> whole;
    for (Index r = 0; r < n; ++r) whole = merged(whole, all[static_cast<std::size_t>(r * rows + i)]);
    mine[static_cast<std::size_t>(i)] = whole;
    for (Index j = 0; j < scores.cols; ++j) {
      T& weight = weights(i, j);
      weight = whole.sum > T(0) ? std::exp(scores(i, j) - whole.max) / whole.sum : T(0);
    }
  }
  return mine;
}

template std::vector<SoftmaxState<float>> distributed_softmax(Communicator&, Matrix<const float>,
                                                              Matrix<float>);
template std::vector<SoftmaxState<double>> distributed_softmax(Communicator&, Matrix<const double>,
                                                               Matrix<double>);

}  // namespace ringcraft
