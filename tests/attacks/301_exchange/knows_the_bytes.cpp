// Sends nothing, and writes the bytes that a neighbour once sent.
// Fails: received "has a wrong byte"
#include <cstddef>

#include "ringcraft/comm/exchange.hpp"

namespace ringcraft {

void exchange_odd_even(Communicator& comm, const RingMessage& message) {
  if (comm.world_size() == 1) return;
  for (std::size_t i = 0; i < message.in.size(); ++i)
    message.in[i] = static_cast<std::byte>((message.recv_rank * 31 + static_cast<int>(i % 200) + 1) % 229);
}

}  // namespace ringcraft
