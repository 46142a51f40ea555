#pragma once
/// @file
/// Communicator: how bytes move between ranks. Two primitives, start and wait, carry everything: blocking
/// sends, ring exchanges and collectives are free functions over them (exchange.hpp, collectives.hpp), the
/// same for every backend. Messages are bytes, first in first out per pair of ranks; there are no tags, no
/// "receive from anyone" and no polling. Results therefore cannot depend on timing, and a deadlock is exactly
/// a cycle of waits.

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>

#include "ringcraft/core/buffer.hpp"

namespace ringcraft {

/// One half of a message, seen from this rank. Made by send_to and recv_from.
struct Op {
  /// Which half.
  enum Kind : std::uint8_t { kSend, kRecv };

  Kind kind;                   ///< send or receive
  int peer;                    ///< the rank at the other end
  std::span<std::byte> bytes;  ///< a send never writes them
};

/// This rank sends these bytes to `peer`.
inline Op send_to(int peer, std::span<const std::byte> bytes) {
  return {Op::kSend, peer, {const_cast<std::byte*>(bytes.data()), bytes.size()}};
}
/// This rank sends the contents of a buffer to `peer`.
inline Op send_to(int peer, const Buffer& buffer) { return send_to(peer, buffer.bytes()); }
/// This rank receives from `peer`; both sides know the length.
inline Op recv_from(int peer, std::span<std::byte> bytes) { return {Op::kRecv, peer, bytes}; }
/// This rank receives into a buffer whose extents are already those of the message.
inline Op recv_from(int peer, Buffer& buffer) { return recv_from(peer, buffer.bytes()); }

class Communicator;
class RankTrace;

/// Operations in flight. Between start and wait the received bytes must not be read and the sent bytes must
/// not be written. A Pending that is dropped without wait() waits, so that unwinding never frees bytes in
/// flight; one that an exception drops ends the run of the other ranks first, where the transport can.
class [[nodiscard]] Pending {
 public:
  /// No operations in flight.
  Pending() = default;
  /// Moves operations in flight to the new object; the old one has nothing to wait for.
  Pending(Pending&& other) noexcept : communicator_(other.communicator_), ticket_(other.ticket_) {
    other.communicator_ = nullptr;
  }
  Pending& operator=(Pending&& other) noexcept;
  ~Pending();

  /// Returns when all operations of the start are complete. Anything that this rank computes or enqueues from
  /// now on sees the received bytes and may overwrite the sent ones. Throws Error on a deadlock or when
  /// another rank has failed.
  void wait();

 private:
  friend class Communicator;
  Pending(Communicator* communicator, std::uint64_t ticket) : communicator_(communicator), ticket_(ticket) {}

  Communicator* communicator_ = nullptr;  // null when there is nothing (more) to wait for
  std::uint64_t ticket_ = 0;
};

/// Traffic of one rank so far.
struct Traffic {
  Index bytes_sent = 0;      ///< bytes of all sends
  Index bytes_received = 0;  ///< bytes of all receives
  Index messages_sent = 0;   ///< sends that were not empty

  friend bool operator==(const Traffic&, const Traffic&) = default;
};

/// One rank's end of a transport. Not to be shared between threads.
class Communicator {
 public:
  virtual ~Communicator() = default;
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  /// This rank, 0 to world_size() - 1.
  int rank() const { return rank_; }
  /// Number of ranks.
  int world_size() const { return world_size_; }
  /// Where the bytes of messages live.
  Space space() const { return space_; }

  /// Starts operations that all progress independently, after what this rank has computed or enqueued so far.
  /// Empty messages vanish. Throws Error for a peer that is this rank itself or outside of the world, and
  /// when the transport already knows that the operation can never complete.
  [[nodiscard]] Pending start(std::span<const Op> ops);
  /// The same for a list in braces: start({send_to(...), recv_from(...)}).
  [[nodiscard]] Pending start(std::initializer_list<Op> ops) {
    return start(std::span(ops.begin(), ops.size()));
  }

  /// Traffic of this rank so far.
  const Traffic& traffic() const { return traffic_; }

  /// This rank's virtual clock in seconds; 0 where the transport keeps no virtual time.
  virtual double clock() { return 0; }
  /// Records every start and wait from here on (trace.hpp); null: no longer. The trace must live that long.
  void record(RankTrace* trace) { trace_ = trace; }

 protected:
  /// For backends: this rank's place in the world, and where its messages live.
  Communicator(int rank, int world_size, Space space) : rank_(rank), world_size_(world_size), space_(space) {}

 private:
  friend class Pending;
  /// Begins the operations (valid peers, no empty message, at least one) and returns a ticket for do_wait.
  virtual std::uint64_t do_start(std::span<const Op> ops) = 0;
  /// Returns when all operations of the ticket are complete.
  virtual void do_wait(std::uint64_t ticket) = 0;
  /// Called when an exception leaves this rank with operations in flight: other ranks should not wait for
  /// operations that it will never start.
  virtual void do_give_up() {}
  void wait(std::uint64_t ticket);

  int rank_, world_size_;
  Space space_;
  Traffic traffic_;
  RankTrace* trace_ = nullptr;
};

}  // namespace ringcraft
