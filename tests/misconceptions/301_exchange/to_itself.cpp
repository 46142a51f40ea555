// RX3: no special case for one rank: it sends to itself.
// Fails: one-rank "a rank does not message itself"
// Hint: Who is right of the last rank, and who is it if there is only one?
#include "ringcraft/comm/exchange.hpp"

namespace ringcraft {

void exchange_odd_even(Communicator& comm, const RingMessage& message) {
  if (comm.rank() % 2 == 0) {
    send(comm, message.send_rank, message.out);
    recv(comm, message.recv_rank, message.in);
  } else {
    recv(comm, message.recv_rank, message.in);
    send(comm, message.send_rank, message.out);
  }
}

}  // namespace ringcraft
