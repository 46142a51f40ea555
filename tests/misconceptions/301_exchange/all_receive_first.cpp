// RX12: everybody listens and nobody talks.
// Fails: no-deadlock "waits to receive 1 bytes from rank"
// Hint: Who talks while everyone is listening?
#include "ringcraft/comm/exchange.hpp"

namespace ringcraft {

void exchange_odd_even(Communicator& comm, const RingMessage& message) {
  if (comm.world_size() == 1) return;
  recv(comm, message.recv_rank, message.in);
  send(comm, message.send_rank, message.out);
}

}  // namespace ringcraft
