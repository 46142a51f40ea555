// RX14: expects as many bytes as it sends.
// Fails: uneven-lengths "bytes to rank"
// Hint: Whose number of rows has the message that arrives?
#include <algorithm>

#include "ringcraft/comm/exchange.hpp"

namespace ringcraft {

void exchange_odd_even(Communicator& comm, const RingMessage& message) {
  if (comm.world_size() == 1) return;
  if (comm.rank() % 2 == 0) {
    send(comm, message.send_rank, message.out);
    recv(comm, message.recv_rank, message.in.first(std::min(message.in.size(), message.out.size())));
  } else {
    recv(comm, message.recv_rank, message.in.first(std::min(message.in.size(), message.out.size())));
    send(comm, message.send_rank, message.out);
  }
}

}  // namespace ringcraft
