// Collectives and exchanges as an MPI job: every rank has the same bytes as on threads. Exit code 1 on the rank
// that has others.
#include <cstdio>

#include "ringcraft/comm/collectives.hpp"
#include "ringcraft/comm/exchange.hpp"
#include "ringcraft/comm/mpi.hpp"
#include "support/messages.hpp"

using namespace ringcraft;
using namespace ringcraft::testing;

namespace {

bool gathers(Communicator& comm, std::size_t length) {
  const auto n = static_cast<std::size_t>(comm.world_size());
  Bytes all(n * length), want;
  all_gather(comm, message_of(comm.rank(), length), all);
  for (int rank = 0; rank < comm.world_size(); ++rank) {
    const Bytes own = message_of(rank, length);
    want.insert(want.end(), own.begin(), own.end());
  }
  return all == want;
}

bool exchanges(Communicator& comm, void (*exchange)(Communicator&, const RingMessage&), std::size_t length) {
  const int n = comm.world_size(), next = (comm.rank() + 1) % n, previous = (comm.rank() + n - 1) % n;
  const Bytes out = message_of(comm.rank(), length);
  Bytes in(length);
  exchange(comm, {next, out, previous, in});
  return n == 1 || in == message_of(previous, length);
}

}  // namespace

int main() {
  MpiJob job;
  Communicator& comm = job.world();
  bool good = true;
  for (const std::size_t length : {std::size_t{0}, std::size_t{7}, std::size_t{300'000}})
    good = gathers(comm, length) && exchanges(comm, exchange_odd_even, length) &&
           exchanges(comm, exchange_send_recv, length) && good;
  std::printf("rank %d of %d: %s\n", comm.rank(), comm.world_size(), good ? "right" : "wrong bytes");
  return good ? 0 : 1;
}
