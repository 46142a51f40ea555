// RF1: the chain ends one hop too early.
// Fails: weights "2 ranks with 4, 4 columns"
// Hint: How many blocks exist, and how many did you use?
#include <algorithm>
#include <cmath>
#include <limits>

#include "ringcraft/comm/collectives.hpp"
#include "ringcraft/comm/exchange.hpp"
#include "ringcraft/ring/distributed_softmax.hpp"

namespace ringcraft {

template <class T>
std::vector<SoftmaxState<T>> distributed_softmax(Communicator& comm, Matrix<const T> scores,
                                                 Matrix<T> weights) {
  const int n = comm.world_size();
  const auto rows = static_cast<std::size_t>(scores.rows);
  const int next = (comm.rank() + 1) % n, previous = (comm.rank() + n - 1) % n;
  std::vector<SoftmaxState<T>> own(rows), states(rows), arriving(rows);
  for (std::size_t i = 0; i < rows; ++i) own[i] = online_scan(scores.row(static_cast<Index>(i)));
  states = own;
  for (int hop = 1; hop + 1 < n; ++hop) {
    exchange_send_recv(comm, {next, std::as_bytes(std::span(states)), previous,
                              std::as_writable_bytes(std::span(arriving))});
    for (std::size_t i = 0; i < rows; ++i) states[i] = merged(arriving[i], own[i]);
  }
  for (Index i = 0; i < scores.rows; ++i) {
    const auto [max, sum] = states[static_cast<std::size_t>(i)];
    const T shift = max == -std::numeric_limits<T>::infinity() ? T(0) : max;
    const T norm = sum == T(0) ? T(1) : sum;
    for (Index j = 0; j < scores.cols; ++j) weights(i, j) = std::exp(scores(i, j) - shift) / norm;
  }
  return states;
}

template std::vector<SoftmaxState<float>> distributed_softmax(Communicator&, Matrix<const float>,
                                                              Matrix<float>);
template std::vector<SoftmaxState<double>> distributed_softmax(Communicator&, Matrix<const double>,
                                                               Matrix<double>);

}  // namespace ringcraft
