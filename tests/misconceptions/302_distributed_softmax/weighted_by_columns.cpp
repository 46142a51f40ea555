// MG2: weighs each rank by its share of the columns in place of its share of the sum.
// Fails: weights "the weight is"
// Hint: Is a key count the same as attention mass?
#include <cmath>
#include <limits>
#include <numeric>

#include "ringcraft/comm/collectives.hpp"
#include "ringcraft/ring/distributed_softmax.hpp"

namespace ringcraft {

template <class T>
std::vector<SoftmaxState<T>> distributed_softmax(Communicator& comm, Matrix<const T> scores,
                                                 Matrix<T> weights) {
  const auto rows = static_cast<std::size_t>(scores.rows);
  const auto n = static_cast<std::size_t>(comm.world_size());
  std::vector<T> columns(n);
  const T own_columns = static_cast<T>(scores.cols);
  all_gather(comm, std::as_bytes(std::span(&own_columns, 1)), std::as_writable_bytes(std::span(columns)));
  const T share = own_columns / std::accumulate(columns.begin(), columns.end(), T(0));
  std::vector<SoftmaxState<T>> own(rows), of_ranks(rows * static_cast<std::size_t>(comm.world_size())),
      states(rows);
  for (std::size_t i = 0; i < rows; ++i) own[i] = online_scan(scores.row(static_cast<Index>(i)));
  all_gather(comm, std::as_bytes(std::span(own)), std::as_writable_bytes(std::span(of_ranks)));
  for (std::size_t at = 0; at < of_ranks.size(); ++at)
    states[at % rows] = merged(states[at % rows], of_ranks[at]);

  for (Index i = 0; i < scores.rows; ++i) {
    const auto [max, sum] = own[static_cast<std::size_t>(i)];
    const T shift = max == -std::numeric_limits<T>::infinity() ? T(0) : max;
    const T norm = sum == T(0) ? T(1) : sum;
    for (Index j = 0; j < scores.cols; ++j) weights(i, j) = std::exp(scores(i, j) - shift) / norm * share;
  }
  return states;
}

template std::vector<SoftmaxState<float>> distributed_softmax(Communicator&, Matrix<const float>,
                                                              Matrix<float>);
template std::vector<SoftmaxState<double>> distributed_softmax(Communicator&, Matrix<const double>,
                                                               Matrix<double>);

}  // namespace ringcraft
