// Mistake: With a single rank the function copies the first min(|out|, |in|) bytes of message.out into message.in before it returns, instead of leaving `in` untouched.
// Lesson 301: the ring exchange made of blocking messages, one at a time, without a deadlock.
#include <algorithm>

#include "ringcraft/comm/exchange.hpp"
#include "ringcraft/core/error.hpp"

namespace ringcraft {

void exchange_odd_even(Communicator& comm, const RingMessage& message) {
  const auto& [to, out, from, in] = message;
  if (comm.world_size() == 1) {
    // The ring closes on ourselves: what we hand on is what we get.
    std::copy_n(out.begin(), std::min(out.size(), in.size()), in.begin());
    return;
  }
  // Two turns; the even ranks talk in the first one and listen in the second one.
  for (int turn = 0; turn < 2; ++turn) {
    if (comm.rank() % 2 == turn)
      send(comm, to, out);
    else
      recv(comm, from, in);
  }
}

}  // namespace ringcraft
