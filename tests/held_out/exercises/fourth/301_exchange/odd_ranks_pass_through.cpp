// Mistake: Ranks with an odd number send message.in, the bytes which they have just received from recv_rank, to send_rank instead of their own message.out; even ranks are right.
// Lesson 301: the ring exchange made of blocking messages, one at a time, without a deadlock.
#include "ringcraft/comm/exchange.hpp"
#include "ringcraft/core/error.hpp"

namespace ringcraft {

void exchange_odd_even(Communicator& comm, const RingMessage& message) {
  if (comm.world_size() == 1) return;
  const auto talk = [&](std::span<const std::byte> bytes) { send(comm, message.send_rank, bytes); };
  const auto listen = [&] { recv(comm, message.recv_rank, message.in); };

  const bool listens_first = comm.rank() % 2 != 0;
  if (listens_first) {
    listen();
    talk(message.in);
    return;
  }
  talk(message.out);
  listen();
}

}  // namespace ringcraft
