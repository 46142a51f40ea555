// Equivalent: start and wait instead of send and recv, one operation at a time.
#include "ringcraft/comm/exchange.hpp"

namespace ringcraft {

void exchange_odd_even(Communicator& comm, const RingMessage& message) {
  if (comm.world_size() == 1) return;
  for (const int turn : {0, 1})
    if (turn == comm.rank() % 2)
      comm.start({send_to(message.send_rank, message.out)}).wait();
    else
      comm.start({recv_from(message.recv_rank, message.in)}).wait();
}

}  // namespace ringcraft
