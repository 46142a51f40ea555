// Mistake: A rank whose out is empty returns at once, without receiving what its neighbour sends to it.
#include "ringcraft/comm/exchange.hpp"
#include "ringcraft/core/error.hpp"

namespace ringcraft {

void exchange_odd_even(Communicator& comm, const RingMessage& message) {
  if (comm.world_size() < 2 || message.out.empty()) return;
  auto talk = [&] { send(comm, message.send_rank, message.out); };
  auto listen = [&] { recv(comm, message.recv_rank, message.in); };
  const bool odd = comm.rank() % 2 != 0;
  if (odd) listen();
  talk();
  if (!odd) listen();
}

}  // namespace ringcraft
