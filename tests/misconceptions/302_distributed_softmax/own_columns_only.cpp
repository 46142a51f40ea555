// DS4: each rank takes its own columns for the whole row.
// Fails: weights "2 ranks with 4, 4 columns of 5 rows: rank 0, row 0"
// Hint: Which columns has the row, and which of them are here?
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
  states = own;
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
