// Mistake: a rank whose own message.out is empty returns at once and never receives the bytes that its neighbour sends to it, so that neighbour waits for ever.
// Lesson 301: the ring exchange made of blocking messages, one at a time, without a deadlock.
#include "ringcraft/comm/exchange.hpp"
#include "ringcraft/core/error.hpp"

namespace ringcraft {

namespace {

enum class First { kTalk, kListen };

First turn_of(int rank) { return rank % 2 == 0 ? First::kTalk : First::kListen; }

}  // namespace

void exchange_odd_even(Communicator& comm, const RingMessage& message) {
  const bool alone = comm.world_size() == 1;
  if (alone || message.out.empty()) return;

  const First first = turn_of(comm.rank());
  if (first == First::kListen) recv(comm, message.recv_rank, message.in);
  send(comm, message.send_rank, message.out);
  if (first == First::kTalk) recv(comm, message.recv_rank, message.in);
}

}  // namespace ringcraft
