// Everybody listens and nobody talks.
#include "ringcraft/comm/exchange.hpp"

namespace ringcraft {

void exchange_odd_even(Communicator& comm, const RingMessage& message) {
  if (comm.world_size() == 1) return;
  recv(comm, message.recv_rank, message.in);
  send(comm, message.send_rank, message.out);
}

}  // namespace ringcraft
