// RX5: the message is received into the buffer that was sent, and copied from there.
// Fails: only-in-is-written "rank 0 changed what it hands on"
// Hint: When is the sender allowed to write again?
#include <algorithm>

#include "ringcraft/comm/exchange.hpp"

namespace ringcraft {

void exchange_odd_even(Communicator& comm, const RingMessage& message) {
  if (comm.world_size() == 1) return;
  const std::span<std::byte> own{const_cast<std::byte*>(message.out.data()), message.out.size()};
  if (comm.rank() % 2 == 0 && own.size() == message.in.size()) {
    send(comm, message.send_rank, message.out);
    recv(comm, message.recv_rank, own);
    std::copy(own.begin(), own.end(), message.in.begin());
  } else if (comm.rank() % 2 == 0) {
    send(comm, message.send_rank, message.out);
    recv(comm, message.recv_rank, message.in);
  } else {
    recv(comm, message.recv_rank, message.in);
    send(comm, message.send_rank, message.out);
  }
}

}  // namespace ringcraft
