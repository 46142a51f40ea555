// Mistake: Each rank merges the states beginning with its own and going round from there instead of in the order of the ranks, so the last bits of the states differ from rank to rank.
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
  const auto rows = static_cast<std::size_t>(scores.rows);
  const auto n = static_cast<std::size_t>(comm.world_size()), me = static_cast<std::size_t>(comm.rank());
  std::vector<SoftmaxState<T>> own(rows), all(rows * n), whole(rows);
  for (std::size_t i = 0; i < rows; ++i) own[i] = online_scan<T>(scores.row(Index(i)));
  all_gather(comm, std::as_bytes(std::span(own)), std::as_writable_bytes(std::span(all)));
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t r = 0; r < n; ++r) whole[i] = merged(whole[i], all[(me + r) % n * rows + i]);
    const T shift = whole[i].sum > T(0) ? whole[i].max : T(0);
    const T norm = whole[i].sum > T(0) ? whole[i].sum : T(1);
    for (Index j = 0; j < scores.cols; ++j)
      weights(Index(i), j) = std::exp(scores(Index(i), j) - shift) / norm;
  }
  return whole;
}

template std::vector<SoftmaxState<float>> distributed_softmax(Communicator&, Matrix<const float>,
                                                              Matrix<float>);
template std::vector<SoftmaxState<double>> distributed_softmax(Communicator&, Matrix<const double>,
                                                               Matrix<double>);

}  // namespace ringcraft
