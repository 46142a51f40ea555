// Sends nothing, and takes its own bytes for those of its neighbour.
// Fails: received "and must hold the message of rank 1"
#include <algorithm>
#include <cstddef>

#include "ringcraft/comm/exchange.hpp"

namespace ringcraft {

void exchange_odd_even(Communicator&, const RingMessage& message) {
  std::copy_n(message.out.begin(), std::min(message.out.size(), message.in.size()), message.in.begin());
}

}  // namespace ringcraft
