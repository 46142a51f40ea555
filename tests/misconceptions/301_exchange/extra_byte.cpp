// EX3: sends a byte after the message, which the other side takes and drops.
// Fails: exact-bytes "rank 0 sends 4 bytes to rank 1, and its message there has 3"
// Hint: Who needs what you send beyond the message?
#include "ringcraft/comm/exchange.hpp"

namespace ringcraft {

void exchange_odd_even(Communicator& comm, const RingMessage& message) {
  if (comm.world_size() == 1) return;
  const std::byte more{};
  if (comm.rank() % 2 == 0) {
    send(comm, message.send_rank, message.out);
    send(comm, message.send_rank, {&more, 1});
    recv(comm, message.recv_rank, message.in);
    std::byte dropped;
    recv(comm, message.recv_rank, {&dropped, 1});
  } else {
    recv(comm, message.recv_rank, message.in);
    std::byte dropped;
    recv(comm, message.recv_rank, {&dropped, 1});
    send(comm, message.send_rank, message.out);
    send(comm, message.send_rank, {&more, 1});
  }
}

}  // namespace ringcraft
