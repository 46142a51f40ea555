// Implements three of the four forms of the ring exchange; exchange_odd_even.cpp has the fourth.
#include "ringcraft/comm/exchange.hpp"

namespace ringcraft {

void exchange_all_send_first(Communicator& comm, const RingMessage& message) {
  if (comm.world_size() == 1) return;
  send(comm, message.send_rank, message.out);
  recv(comm, message.recv_rank, message.in);
}

void exchange_send_recv(Communicator& comm, const RingMessage& message) {
  start_exchange(comm, message).wait();
}

Pending start_exchange(Communicator& comm, const RingMessage& message) {
  if (comm.world_size() == 1) return {};
  return comm.start({send_to(message.send_rank, message.out), recv_from(message.recv_rank, message.in)});
}

}  // namespace ringcraft
