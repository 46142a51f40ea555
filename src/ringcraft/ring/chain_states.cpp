// The states of distributed rows, merged by a chain around the ring.
#include "ringcraft/comm/exchange.hpp"
#include "ringcraft/ring/distributed_softmax.hpp"

namespace ringcraft {

// After hop t a rank holds the merge of the ranks r - t, ..., r - 1 and of its own state, in this order.
template <class T>
void chain_states(Communicator& comm, std::span<SoftmaxState<T>> states) {
  const int n = comm.world_size(), next = (comm.rank() + 1) % n, previous = (comm.rank() + n - 1) % n;
  const std::vector<SoftmaxState<T>> own(states.begin(), states.end());
  std::vector<SoftmaxState<T>> arriving(own.size());
  for (int hop = 1; hop < n; ++hop) {
    exchange_send_recv(comm,
                       {next, std::as_bytes(states), previous, std::as_writable_bytes(std::span(arriving))});
    for (std::size_t i = 0; i < own.size(); ++i) states[i] = merged(arriving[i], own[i]);
  }
}

template void chain_states(Communicator&, std::span<SoftmaxState<float>>);
template void chain_states(Communicator&, std::span<SoftmaxState<double>>);

}  // namespace ringcraft
