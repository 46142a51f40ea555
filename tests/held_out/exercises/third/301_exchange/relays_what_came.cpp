// Mistake: odd ranks, which receive first, afterwards send the bytes that they have just received (message.in) instead of their own message.out; even ranks are right.
// Lesson 301: the ring exchange made of blocking messages, one at a time, without a deadlock.
#include "ringcraft/comm/exchange.hpp"
#include "ringcraft/core/error.hpp"

namespace ringcraft {

void exchange_odd_even(Communicator& comm, const RingMessage& message) {
  if (comm.world_size() < 2) return;
  const auto& [to, outgoing, from, incoming] = message;
  const bool listens_first = (comm.rank() & 1) != 0;
  if (listens_first) {
    recv(comm, from, incoming);
    send(comm, to, incoming);
    return;
  }
  send(comm, to, outgoing);
  recv(comm, from, incoming);
}

}  // namespace ringcraft
