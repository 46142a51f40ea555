// Mistake: Two mistakes. (1) The gathered table, which lies rank after rank (r * rows + i), is read as if it lay row after row (i * ranks + r), so states of other rows are merged into a row when there are several rows and ranks. (2) The weights subtract the maximum of this rank's own columns instead of the maximum of the whole row, while they are divided by the sum of the whole row.
// Lesson 302: softmax of rows that lie on many ranks, by an all-reduce of (m, l).
#include "ringcraft/ring/distributed_softmax.hpp"

#include <cmath>

#include "ringcraft/comm/collectives.hpp"
#include "ringcraft/core/error.hpp"

namespace ringcraft {
namespace {

template <class T>
void write_weights(std::span<const T> scores, std::span<T> weights, T max, T sum) {
  const bool visible = sum > T(0);
  for (std::size_t j = 0; j < scores.size(); ++j)
    weights[j] = visible && std::isfinite(scores[j]) ? std::exp(scores[j] - max) / sum : T(0);
}

}  // namespace

template <class T>
std::vector<SoftmaxState<T>> distributed_softmax(Communicator& comm, Matrix<const T> scores,
                                                 Matrix<T> weights) {
  using State = SoftmaxState<T>;
  const Index n = comm.world_size();
  std::vector<State> local;
  local.reserve(static_cast<std::size_t>(scores.rows));
  for (Index i = 0; i < scores.rows; ++i) local.push_back(online_scan(scores.row(i)));

  std::vector<State> gathered(local.size() * static_cast<std::size_t>(n));
  all_gather(comm, std::as_bytes(std::span(local)), std::as_writable_bytes(std::span(gathered)));
  const auto state_of = [&](Index rank, Index row) {
    return gathered[static_cast<std::size_t>(row * n + rank)];
  };

  std::vector<State> global(local.size());
  for (Index i = 0; i < scores.rows; ++i) {
    State& row = global[static_cast<std::size_t>(i)];
    for (Index rank = 0; rank < n; ++rank) row = merged(row, state_of(rank, i));
    const T max = local[static_cast<std::size_t>(i)].max;
    write_weights<T>(scores.row(i), weights.row(i), max, row.sum);
  }
  return global;
}

template std::vector<SoftmaxState<float>> distributed_softmax(Communicator&, Matrix<const float>,
                                                              Matrix<float>);
template std::vector<SoftmaxState<double>> distributed_softmax(Communicator&, Matrix<const double>,
                                                               Matrix<double>);

}  // namespace ringcraft
