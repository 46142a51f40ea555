// Mistake: The gathered states are read as if those of one row lay side by side, at i * N + r, while they lie rank by rank, at r * rows + i.
// Lesson 302: softmax of rows that lie on many ranks, by an all-reduce of (m, l).
#include "ringcraft/ring/distributed_softmax.hpp"

#include <cmath>
#include <limits>

#include "ringcraft/comm/collectives.hpp"
#include "ringcraft/core/error.hpp"

namespace ringcraft {

template <class T>
std::vector<SoftmaxState<T>> distributed_softmax(Communicator& comm, Matrix<const T> scores,
                                                 Matrix<T> weights) {
  const Index rows = scores.rows;
  const int n = comm.world_size();
  std::vector<SoftmaxState<T>> own(static_cast<std::size_t>(rows));
  for (Index i = 0; i < rows; ++i) own[static_cast<std::size_t>(i)] = online_scan<T>(scores.row(i));
  std::vector<SoftmaxState<T>> all(own.size() * static_cast<std::size_t>(n));
  all_gather(comm, std::as_bytes(std::span(own)), std::as_writable_bytes(std::span(all)));
  for (Index i = 0; i < rows; ++i) {
    SoftmaxState<T> state;
    for (int r = 0; r < n; ++r) state = merged(state, all[static_cast<std::size_t>(i * n + r)]);
    own[static_cast<std::size_t>(i)] = state;
    const bool nothing = state.max == -std::numeric_limits<T>::infinity();
    const auto from = scores.row(i);
    const auto to = weights.row(i);
    for (std::size_t j = 0; j < from.size(); ++j) to[j] = nothing ? T(0) : std::exp(from[j] - state.max) / state.sum;
  }
  return own;
}

template std::vector<SoftmaxState<float>> distributed_softmax(Communicator&, Matrix<const float>,
                                                              Matrix<float>);
template std::vector<SoftmaxState<double>> distributed_softmax(Communicator&, Matrix<const double>,
                                                               Matrix<double>);

}  // namespace ringcraft
