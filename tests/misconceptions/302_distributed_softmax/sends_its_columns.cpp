// RX14: gathers scores as they are: right if all ranks have as many columns, and it moves far too much.
// Fails: no-deadlock ", which expects"
// Hint: Whose number of rows has the message that arrives?
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
  std::vector<T> all(scores.data.size() * static_cast<std::size_t>(n));
  all_gather(comm, std::as_bytes(scores.data), std::as_writable_bytes(std::span(all)));
  std::vector<SoftmaxState<T>> states(rows);
  const auto cols = static_cast<std::size_t>(scores.cols);
  for (std::size_t at = 0; at < all.size(); at += cols)
    states[at / cols % rows] =
        online_scan<T>(std::span<const T>(all).subspan(at, cols), states[at / cols % rows]);
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
