// Lesson 301: the ring exchange made of blocking messages, one at a time, without a deadlock.
#include "ringcraft/comm/exchange.hpp"
#include "ringcraft/core/error.hpp"

namespace ringcraft {

void exchange_odd_even(Communicator& comm, const RingMessage& message) {
  // BEGIN SOLUTION 301 [exchange_odd_even]
  if (comm.world_size() == 1) return;
  if (comm.rank() % 2 == 0) {
    send(comm, message.send_rank, message.out);
    recv(comm, message.recv_rank, message.in);
  } else {
    recv(comm, message.recv_rank, message.in);
    send(comm, message.send_rank, message.out);
  }
  // END SOLUTION [exchange_odd_even]
}

}  // namespace ringcraft
