// Equivalent: the state goes from rank to rank, and the last one tells the others.
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
  std::vector<SoftmaxState<T>> own(rows), states(rows);
  for (std::size_t i = 0; i < rows; ++i) own[i] = online_scan(scores.row(static_cast<Index>(i)));
  const auto bytes = std::as_writable_bytes(std::span(states));
  if (comm.rank() > 0) recv(comm, comm.rank() - 1, bytes);
  for (std::size_t i = 0; i < rows; ++i) states[i] = merged(states[i], own[i]);
  if (comm.rank() + 1 < n) send(comm, comm.rank() + 1, bytes);
  if (comm.rank() + 1 == n)
    for (int to = 0; to + 1 < n; ++to) send(comm, to, bytes);
  else
    recv(comm, n - 1, bytes);
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
