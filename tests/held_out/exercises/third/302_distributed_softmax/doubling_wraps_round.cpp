// Mistake: the states are all-reduced by doubling distances 1, 2, 4, ... and every round merges everything that arrives; where the number of ranks is no power of two (3, 5) the last round wraps around the ring, so rank 0, whose states all ranks take in the end, merges the states of some ranks twice (on 3 ranks its own, on 5 those of ranks 0, 3, 4) and the row sums are too large (and with them the weights too small).
// Lesson 302: softmax of rows that lie on many ranks, by an all-reduce of (m, l).
#include "ringcraft/ring/distributed_softmax.hpp"

#include <cmath>
#include <limits>

#include "ringcraft/comm/collectives.hpp"
#include "ringcraft/core/error.hpp"
#include "ringcraft/comm/exchange.hpp"

namespace ringcraft {

template <class T>
std::vector<SoftmaxState<T>> distributed_softmax(Communicator& comm, Matrix<const T> scores,
                                                 Matrix<T> weights) {
  using State = SoftmaxState<T>;
  const int ranks = comm.world_size(), me = comm.rank();
  const auto rows = static_cast<std::size_t>(scores.rows);

  std::vector<State> total(rows), arrived(rows);
  for (Index i = 0; i < scores.rows; ++i) total[static_cast<std::size_t>(i)] = online_scan(scores.row(i));
  // After a round with distance d a rank knows about 2 d ranks.
  for (int distance = 1; distance < ranks; distance *= 2) {
    const int to = (me + distance) % ranks, from = (me - distance + ranks) % ranks;
    exchange_send_recv(
        comm, {to, std::as_bytes(std::span(total)), from, std::as_writable_bytes(std::span(arrived))});
    for (std::size_t i = 0; i < rows; ++i) total[i] = merged(arrived[i], total[i]);
  }

  // Everybody takes the numbers of rank 0, so that all have the same bits.
  std::vector<State> everybody(rows * static_cast<std::size_t>(ranks));
  all_gather(comm, std::as_bytes(std::span(total)), std::as_writable_bytes(std::span(everybody)));
  std::vector<State> states(everybody.begin(), everybody.begin() + static_cast<std::ptrdiff_t>(rows));

  for (Index i = 0; i < scores.rows; ++i) {
    const State& state = states[static_cast<std::size_t>(i)];
    const bool blind = state.sum == T(0);
    for (Index j = 0; j < scores.cols; ++j)
      weights(i, j) = blind ? T(0) : std::exp(scores(i, j) - state.max) / state.sum;
  }
  return states;
}

template std::vector<SoftmaxState<float>> distributed_softmax(Communicator&, Matrix<const float>,
                                                              Matrix<float>);
template std::vector<SoftmaxState<double>> distributed_softmax(Communicator&, Matrix<const double>,
                                                               Matrix<double>);

}  // namespace ringcraft
