// Mistake: The weights are made from the maximum and the sum of this rank's own columns instead of from those of the whole row; the returned states are right.
#include "ringcraft/ring/distributed_softmax.hpp"

#include <cmath>
#include <limits>

#include "ringcraft/comm/collectives.hpp"
#include "ringcraft/core/error.hpp"

namespace ringcraft {
namespace {

template <class T>
T weight_of(T score, const SoftmaxState<T>& state) {
  if (state.max == -std::numeric_limits<T>::infinity()) return T(0);
  return std::exp(score - state.max) / state.sum;
}

}  // namespace

template <class T>
std::vector<SoftmaxState<T>> distributed_softmax(Communicator& comm, Matrix<const T> scores,
                                                 Matrix<T> weights) {
  std::vector<SoftmaxState<T>> mine;
  for (Index i = 0; i < scores.rows; i++) mine.push_back(online_scan<T>(scores.row(i)));

  std::vector<SoftmaxState<T>> gathered(mine.size() * static_cast<std::size_t>(comm.world_size()));
  all_gather(comm, std::as_bytes(std::span(mine)), std::as_writable_bytes(std::span(gathered)));

  std::vector<SoftmaxState<T>> total(mine.size());
  for (std::size_t place = 0; place < gathered.size(); place++) {
    SoftmaxState<T>& t = total[place % mine.size()];
    t = merged(t, gathered[place]);
  }
  for (Index i = 0; i < scores.rows; i++)
    for (Index j = 0; j < scores.cols; j++)
      weights(i, j) = weight_of(scores(i, j), mine[static_cast<std::size_t>(i)]);
  return total;
}

template std::vector<SoftmaxState<float>> distributed_softmax(Communicator&, Matrix<const float>,
                                                              Matrix<float>);
template std::vector<SoftmaxState<double>> distributed_softmax(Communicator&, Matrix<const double>,
                                                               Matrix<double>);

}  // namespace ringcraft
