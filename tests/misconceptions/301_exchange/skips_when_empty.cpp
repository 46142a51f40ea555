// RX13: a rank that hands on nothing does not listen either.
// Fails: empty-messages "which has already ended"
// Hint: Skipping work is fine; may you skip your turn?
#include "ringcraft/comm/exchange.hpp"

namespace ringcraft {

void exchange_odd_even(Communicator& comm, const RingMessage& message) {
  if (comm.world_size() == 1) return;
  if (message.out.empty()) return;
  if (comm.rank() % 2 == 0) {
    send(comm, message.send_rank, message.out);
    recv(comm, message.recv_rank, message.in);
  } else {
    recv(comm, message.recv_rank, message.in);
    send(comm, message.send_rank, message.out);
  }
}

}  // namespace ringcraft
