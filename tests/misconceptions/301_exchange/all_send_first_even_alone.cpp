// RX1: everybody talks and nobody listens, not even a rank that is alone.
// Fails: no-deadlock "rank 1 waits to send 1 bytes to rank 0"
// Hint: Who is listening while everyone talks?
#include "ringcraft/comm/exchange.hpp"

namespace ringcraft {

void exchange_odd_even(Communicator& comm, const RingMessage& message) {
  send(comm, message.send_rank, message.out);
  recv(comm, message.recv_rank, message.in);
}

}  // namespace ringcraft
