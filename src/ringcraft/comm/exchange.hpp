#pragma once
/// @file
/// Blocking messages and the ring exchange in four forms (lesson 301), all of them free functions over
/// Communicator::start and Pending::wait. In a ring exchange every rank hands a message to one neighbour and
/// takes one from the other. Sends are rendezvous: a send completes only when its receive is there.

#include <tuple>

#include "ringcraft/comm/communicator.hpp"

namespace ringcraft {

/// Returns when `peer` has taken the bytes.
inline void send(Communicator& comm, int peer, std::span<const std::byte> bytes) {
  comm.start({send_to(peer, bytes)}).wait();
}

/// Returns when the bytes of `peer` are here.
inline void recv(Communicator& comm, int peer, std::span<std::byte> bytes) {
  comm.start({recv_from(peer, bytes)}).wait();
}

/// The message that a rank hands on in one ring exchange, and the buffer for the one that it receives. With
/// one rank there is nothing to exchange and every form returns at once.
struct RingMessage {
  int send_rank;                   ///< the neighbour that gets `out`
  std::span<const std::byte> out;  ///< message to the neighbour
  int recv_rank;                   ///< the neighbour that `in` comes from
  std::span<std::byte> in;         ///< destination of the incoming message

  static auto fields(auto& self) { return std::tie(self.send_rank, self.out, self.recv_rank, self.in); }
};

/// The counter-example: every rank sends first and receives afterwards. It deadlocks for every N >= 2, with
/// the smallest message: all wait to send and nobody listens.
void exchange_all_send_first(Communicator& comm, const RingMessage& message);

/// Even ranks send first, odd ranks receive first. 2 phases for even N; 3 for odd N, where the ranks N-1 and
/// 0 are both even and neighbours.
void exchange_odd_even(Communicator& comm, const RingMessage& message);

/// Send and receive progress together. 1 phase.
void exchange_send_recv(Communicator& comm, const RingMessage& message);

/// The non-blocking pair: send and receive are in flight while the rank computes, until wait(). 1 phase.
[[nodiscard]] Pending start_exchange(Communicator& comm, const RingMessage& message);

}  // namespace ringcraft
