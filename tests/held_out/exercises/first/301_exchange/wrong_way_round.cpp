// Mistake: out is sent to recv_rank and in is received from send_rank, so messages go round the ring the other way.
// Lesson 301: the ring exchange made of blocking messages, one at a time, without a deadlock.
#include "ringcraft/comm/exchange.hpp"
#include "ringcraft/core/error.hpp"

namespace ringcraft {

void exchange_odd_even(Communicator& comm, const RingMessage& message) {
  if (comm.world_size() == 1) return;
  const int to = message.recv_rank, from = message.send_rank;
  switch (comm.rank() & 1) {
    case 0:
      send(comm, to, message.out);
      recv(comm, from, message.in);
      break;
    default:
      recv(comm, from, message.in);
      send(comm, to, message.out);
  }
}

}  // namespace ringcraft
