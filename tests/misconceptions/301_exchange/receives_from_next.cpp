// RX2: receives from the rank that it sends to; right on two ranks.
// Fails: no-deadlock "3 ranks, to the next one: deadlock"
// Hint: Draw the arrows: one in, one out; do they point the same way around?
#include "ringcraft/comm/exchange.hpp"

namespace ringcraft {

void exchange_odd_even(Communicator& comm, const RingMessage& message) {
  if (comm.world_size() == 1) return;
  if (comm.rank() % 2 == 0) {
    send(comm, message.send_rank, message.out);
    recv(comm, message.send_rank, message.in);
  } else {
    recv(comm, message.send_rank, message.in);
    send(comm, message.send_rank, message.out);
  }
}

}  // namespace ringcraft
