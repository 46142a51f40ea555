// Mistake: the gathered states lie rank after rank (state of row i of rank r at r * rows + i) but are read as if they lay row after row (at i * N + r), so a row is merged from the states of other rows and ranks; with one row or one rank it is right.
// Lesson 302: softmax of rows that lie on many ranks, by an all-reduce of (m, l).
#include "ringcraft/ring/distributed_softmax.hpp"

#include <cmath>
#include <limits>

#include "ringcraft/comm/collectives.hpp"
#include "ringcraft/core/error.hpp"

namespace ringcraft {

namespace {

template <class T>
void write_weights(std::span<const T> scores, std::span<T> weights, const SoftmaxState<T>& state) {
  for (std::size_t j = 0; j < scores.size(); ++j)
    weights[j] = scores[j] == -std::numeric_limits<T>::infinity()
                     ? T(0)
                     : std::exp(scores[j] - state.max) / state.sum;
}

}  // namespace

template <class T>
std::vector<SoftmaxState<T>> distributed_softmax(Communicator& comm, Matrix<const T> scores,
                                                 Matrix<T> weights) {
  const auto count = static_cast<std::size_t>(scores.rows), n = static_cast<std::size_t>(comm.world_size());
  std::vector<SoftmaxState<T>> local;
  local.reserve(count);
  for (Index i = 0; i < scores.rows; ++i) local.push_back(online_scan(scores.row(i)));

  std::vector<SoftmaxState<T>> table(count * n);
  all_gather(comm, std::as_bytes(std::span(local)), std::as_writable_bytes(std::span(table)));

  std::vector<SoftmaxState<T>> result(count);
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t r = 0; r < n; ++r) result[i] = merged(result[i], table[i * n + r]);
    const auto row = static_cast<Index>(i);
    write_weights<T>(scores.row(row), weights.row(row), result[i]);
  }
  return result;
}

template std::vector<SoftmaxState<float>> distributed_softmax(Communicator&, Matrix<const float>,
                                                              Matrix<float>);
template std::vector<SoftmaxState<double>> distributed_softmax(Communicator&, Matrix<const double>,
                                                               Matrix<double>);

}  // namespace ringcraft
