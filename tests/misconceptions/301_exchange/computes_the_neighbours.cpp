// EX2: takes rank + 1 and rank - 1 whatever the message says.
// Fails: other-direction "rank 0 holds the message of rank 2, and must hold the message of rank 1"
// Hint: Who says to whom a message goes: the rank, or the message?
#include "ringcraft/comm/exchange.hpp"

namespace ringcraft {

void exchange_odd_even(Communicator& comm, const RingMessage& message) {
  if (comm.world_size() == 1) return;
  const int n = comm.world_size(), next = (comm.rank() + 1) % n, previous = (comm.rank() + n - 1) % n;
  if (comm.rank() % 2 == 0) {
    send(comm, next, message.out);
    recv(comm, previous, message.in);
  } else {
    recv(comm, previous, message.in);
    send(comm, next, message.out);
  }
}

}  // namespace ringcraft
