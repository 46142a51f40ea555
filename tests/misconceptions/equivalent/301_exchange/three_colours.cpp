// Equivalent: an odd ring gets a third colour, the last rank; it listens first, talks last.
#include "ringcraft/comm/exchange.hpp"

namespace ringcraft {
namespace {
bool is_last(const Communicator& comm) { return comm.rank() + 1 == comm.world_size(); }
}  // namespace

void exchange_odd_even(Communicator& comm, const RingMessage& message) {
  if (comm.world_size() == 1) return;
  const bool listens = comm.rank() % 2 == 1 || (comm.world_size() % 2 == 1 && is_last(comm));
  if (listens) recv(comm, message.recv_rank, message.in);
  send(comm, message.send_rank, message.out);
  if (!listens) recv(comm, message.recv_rank, message.in);
}

}  // namespace ringcraft
