// Mistake: The states are reduced by log2 rounds in which rank r merges the whole running state of rank r - s (s = 1, 2, 4, ...); unless the number of ranks is a power of two the sets overlap, so the states of some ranks are merged twice and the sum l of a row is too large (and its weights too small). Rank 0's wrong result is what all ranks use.
// Lesson 302: softmax of rows that lie on many ranks, by an all-reduce of (m, l).
#include "ringcraft/ring/distributed_softmax.hpp"

#include <cmath>
#include <limits>

#include "ringcraft/comm/collectives.hpp"
#include "ringcraft/comm/exchange.hpp"
#include "ringcraft/core/error.hpp"

namespace ringcraft {
namespace {

// exp(x - m) / l, where a row without a visible score has weight 0 everywhere.
template <class T>
T weight_of(T score, const SoftmaxState<T>& row) {
  if (row.sum == T(0)) return T(0);
  return std::exp(score - row.max) / row.sum;
}

}  // namespace

template <class T>
std::vector<SoftmaxState<T>> distributed_softmax(Communicator& comm, Matrix<const T> scores,
                                                 Matrix<T> weights) {
  const int n = comm.world_size(), me = comm.rank();
  std::vector<SoftmaxState<T>> known;
  for (Index i = 0; i < scores.rows; ++i) known.push_back(online_scan(scores.row(i)));

  // Log-many rounds: each doubles the number of ranks that we have heard of.
  std::vector<SoftmaxState<T>> heard(known.size());
  for (int stride = 1; stride < n; stride *= 2) {
    const int to = (me + stride) % n, from = (me - stride + n) % n;
    exchange_send_recv(
        comm, {to, std::as_bytes(std::span(known)), from, std::as_writable_bytes(std::span(heard))});
    for (std::size_t i = 0; i < known.size(); ++i) known[i] = merged(heard[i], known[i]);
  }

  // Every rank has merged in an order of its own; rank 0's bits are the ones that count.
  if (me == 0) {
    std::vector<Op> copies;
    for (int peer = 1; peer < n; ++peer) copies.push_back(send_to(peer, std::as_bytes(std::span(known))));
    comm.start(copies).wait();
  } else {
    recv(comm, 0, std::as_writable_bytes(std::span(known)));
  }

  for (Index i = 0; i < scores.rows; ++i)
    for (Index j = 0; j < scores.cols; ++j)
      weights(i, j) = weight_of(scores(i, j), known[static_cast<std::size_t>(i)]);
  return known;
}

template std::vector<SoftmaxState<float>> distributed_softmax(Communicator&, Matrix<const float>,
                                                              Matrix<float>);
template std::vector<SoftmaxState<double>> distributed_softmax(Communicator&, Matrix<const double>,
                                                               Matrix<double>);

}  // namespace ringcraft
