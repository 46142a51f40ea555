// All-gather by doubling.
#include "ringcraft/comm/collectives.hpp"

#include <algorithm>
#include <bit>
#include <string>
#include <vector>

#include "ringcraft/core/error.hpp"

namespace ringcraft {

void all_gather(Communicator& comm, std::span<const std::byte> own, std::span<std::byte> all) {
  const int n = comm.world_size(), rank = comm.rank();
  const std::size_t length = own.size();
  if (all.size() != static_cast<std::size_t>(n) * length)
    throw Error("all_gather", std::to_string(n) + " times " + std::to_string(length) + " bytes",
                std::to_string(all.size()), "make room for the bytes of all ranks");
  const auto pieces = [length](int count) { return static_cast<std::size_t>(count) * length; };

  std::vector<std::byte> held(all.size());  // the pieces of the ranks rank, rank + 1, ... (mod n)
  std::ranges::copy(own, held.begin());
  for (int have = 1; have < n; have *= 2) {
    const int more = std::min(have, n - have);
    const std::span<std::byte> memory(held);
    comm.start({send_to((rank - have + n) % n, memory.first(pieces(more))),
                recv_from((rank + have) % n, memory.subspan(pieces(have), pieces(more)))})
        .wait();
  }
  std::rotate_copy(held.begin(), held.end() - static_cast<std::ptrdiff_t>(pieces(rank)), held.end(),
                   all.begin());
}

int gather_phases(int world_size) {
  return static_cast<int>(std::bit_width(static_cast<unsigned>(world_size) - 1));
}

}  // namespace ringcraft
