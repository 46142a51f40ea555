// Right, and no repair: another program.
#include "ringcraft/comm/exchange.hpp"
#include "ringcraft/core/error.hpp"

namespace ringcraft {

void exchange_odd_even(Communicator& comm, const RingMessage& message) {
  if (comm.world_size() == 1) return;
  const bool even = comm.rank() % 2 == 0;
  const int to = message.send_rank;
  const int from = message.recv_rank;
  if (even) send(comm, to, message.out);
  if (even) recv(comm, from, message.in);
  if (!even) recv(comm, from, message.in);
  if (!even) send(comm, to, message.out);
}

}  // namespace ringcraft
