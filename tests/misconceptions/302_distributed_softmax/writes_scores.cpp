// IN1: turns the scores into exponentials where they lie.
// Fails: scores-unchanged "rank 0 changed its scores"
// Hint: Whose memory is it that you write to?
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
  std::vector<SoftmaxState<T>> own(rows), of_ranks(rows * static_cast<std::size_t>(n)), states(rows);
  for (std::size_t i = 0; i < rows; ++i) own[i] = online_scan(scores.row(static_cast<Index>(i)));
  all_gather(comm, std::as_bytes(std::span(own)), std::as_writable_bytes(std::span(of_ranks)));
  for (std::size_t at = 0; at < of_ranks.size(); ++at)
    states[at % rows] = merged(states[at % rows], of_ranks[at]);
  for (Index i = 0; i < scores.rows; ++i) {
    const auto [max, sum] = states[static_cast<std::size_t>(i)];
    const T shift = max == -std::numeric_limits<T>::infinity() ? T(0) : max;
    const T norm = sum == T(0) ? T(1) : sum;
    for (Index j = 0; j < scores.cols; ++j) {
      const_cast<T&>(scores(i, j)) = std::exp(scores(i, j) - shift);
      weights(i, j) = scores(i, j) / norm;
    }
  }
  return states;
}

template std::vector<SoftmaxState<float>> distributed_softmax(Communicator&, Matrix<const float>,
                                                              Matrix<float>);
template std::vector<SoftmaxState<double>> distributed_softmax(Communicator&, Matrix<const double>,
                                                               Matrix<double>);

}  // namespace ringcraft
