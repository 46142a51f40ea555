// All-gather by doubling; sums in the order of the ranks.
#include "ringcraft/comm/collectives.hpp"

#include <algorithm>
#include <bit>
#include <functional>
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

template <class T>
void reduce_scatter(Communicator& comm, std::span<const T> whole, std::span<T> own) {
  const int n = comm.world_size(), rank = comm.rank();
  const std::size_t length = own.size();
  if (whole.size() != static_cast<std::size_t>(n) * length)
    throw Error("reduce_scatter", std::to_string(n) + " times " + std::to_string(length) + " numbers",
                std::to_string(whole.size()), "give one piece for each rank, all of the same length");
  const auto piece = [length](auto numbers, int of) {
    return numbers.subspan(static_cast<std::size_t>(of) * length, length);
  };

  std::vector<T> pieces(whole.size());  // for this rank, by the rank that they come from
  std::ranges::copy(piece(whole, rank), piece(std::span(pieces), rank).begin());
  std::vector<Op> ops;
  for (int peer = 0; peer < n; ++peer) {
    if (peer == rank) continue;
    ops.push_back(send_to(peer, std::as_bytes(piece(whole, peer))));
    ops.push_back(recv_from(peer, std::as_writable_bytes(piece(std::span(pieces), peer))));
  }
  comm.start(ops).wait();
  std::ranges::copy(piece(std::span(pieces), 0), own.begin());
  for (int from = 1; from < n; ++from)
    std::ranges::transform(own, piece(std::span(pieces), from), own.begin(), std::plus<>());
}

template <class T>
void all_reduce(Communicator& comm, std::span<T> values) {
  const auto n = static_cast<std::size_t>(comm.world_size());
  std::vector<T> whole((values.size() + n - 1) / n * n),
      own(whole.size() / n);  // the last piece ends in zeros
  std::ranges::copy(values, whole.begin());
  reduce_scatter<T>(comm, whole, own);
  all_gather(comm, std::as_bytes(std::span(own)), std::as_writable_bytes(std::span(whole)));
  std::ranges::copy(std::span(whole).first(values.size()), values.begin());
}

template void reduce_scatter<float>(Communicator&, std::span<const float>, std::span<float>);
template void reduce_scatter<double>(Communicator&, std::span<const double>, std::span<double>);
template void all_reduce<float>(Communicator&, std::span<float>);
template void all_reduce<double>(Communicator&, std::span<double>);

}  // namespace ringcraft
