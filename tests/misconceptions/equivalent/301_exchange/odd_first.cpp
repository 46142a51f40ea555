// Equivalent: the odd ranks talk first.
#include "ringcraft/comm/exchange.hpp"

namespace ringcraft {

void exchange_odd_even(Communicator& comm, const RingMessage& message) {
  if (comm.world_size() == 1) return;
  if (comm.rank() % 2 == 1) {
    send(comm, message.send_rank, message.out);
    recv(comm, message.recv_rank, message.in);
  } else {
    recv(comm, message.recv_rank, message.in);
    send(comm, message.send_rank, message.out);
  }
}

}  // namespace ringcraft
