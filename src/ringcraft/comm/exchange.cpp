// The ring exchange in four forms (see exchange.hpp).
#include "ringcraft/comm/exchange.hpp"

namespace ringcraft {

void exchange_all_send_first(Communicator& comm, const RingMessage& message) {
  if (comm.world_size() == 1) return;
  send(comm, message.send_rank, message.out);
  recv(comm, message.recv_rank, message.in);
}

void exchange_odd_even(Communicator& comm, const RingMessage& message) {
  if (comm.world_size() == 1) return;
  if (comm.rank() % 2 == 0) {
    send(comm, message.send_rank, message.out);
    recv(comm, message.recv_rank, message.in);
  } else {
    recv(comm, message.recv_rank, message.in);
    send(comm, message.send_rank, message.out);
  }
}

void exchange_send_recv(Communicator& comm, const RingMessage& message) {
  start_exchange(comm, message).wait();
}

Pending start_exchange(Communicator& comm, const RingMessage& message) {
  if (comm.world_size() == 1) return {};
  return comm.start({send_to(message.send_rank, message.out), recv_from(message.recv_rank, message.in)});
}

}  // namespace ringcraft
