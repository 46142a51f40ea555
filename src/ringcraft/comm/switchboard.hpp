#pragma once
/// @file
/// Switchboard: the one place where messages between ranks of this machine meet. It matches sends and
/// receives, tracks which rank waits for which, finds a deadlock at the very call that closes the cycle,
/// delivers late and out of order when a seed requests it, counts bytes per link, and keeps one virtual clock
/// per rank. It contains no thread and no I/O: thread ranks (threads.hpp) and the judge's router drive it
/// under their own locks and loops.

#include <functional>
#include <limits>
#include <optional>
#include <random>
#include <string>
#include <unordered_map>
#include <vector>

#include "ringcraft/comm/communicator.hpp"
#include "ringcraft/core/error.hpp"

namespace ringcraft {

/// The cost of a message in virtual time: alpha + bytes / beta seconds from the moment both sides have
/// posted.
struct LinkCost {
  double alpha = 0;                                       ///< seconds per message
  double beta = std::numeric_limits<double>::infinity();  ///< bytes per second
};

/// A message whose two sides have met.
struct Delivery {
  int from;                           ///< the sender's rank
  int to;                             ///< the receiver's
  std::span<const std::byte> source;  ///< the sender's bytes
  std::span<std::byte> target;        ///< the receiver's, as many
};

/// How a switchboard behaves.
struct SwitchboardOptions {
  /// 0: bytes move as soon as both sides have posted. Otherwise they move late and in an order that this seed
  /// decides, and receive buffers are filled with ones first: a rank that touches a buffer before wait() is
  /// found out.
  std::uint64_t delivery_seed = 0;
  LinkCost link;  ///< the same for every pair of ranks
  /// The cost from one rank to another, instead of `link`: fast links inside a node, slow ones between, say.
  std::function<LinkCost(int from, int to)> link_of = {};
  /// Brings the bytes over where the host cannot: in device memory. Called once per message, in the order of
  /// delivery, under the lock of the code that drives the board; receive buffers are then not filled with
  /// ones. An exception fails the board. Empty: the bytes are copied.
  std::function<void(const Delivery&)> carry = {};
  /// Called, within a call of the board, for every rank that sleeps in begin_wait and need not any more. Not
  /// called when the board fails. Empty: the caller asks is_waiting.
  std::function<void(int rank)> released = {};
};

/// Matches the messages of a set of ranks. Sends are rendezvous. Not thread-safe: the caller serialises the
/// calls.
class Switchboard {
 public:
  /// Names one post of one rank.
  using Ticket = std::uint64_t;

  /// One operation that a rank waits for.
  struct Waiting {
    int rank;           ///< that waits
    Op::Kind op;        ///< its kind
    int peer;           ///< on whom,
    std::size_t bytes;  ///< its length
  };
  /// Why a board has failed.
  struct Failure {
    /// Which of these.
    enum class Why : std::uint8_t {
      kDeadlock,  ///< a cycle of waits
      kLengths,   ///< a send and a receive of different lengths
      kEnded,     ///< a rank waits for one that has ended
      kOther,     ///< the reason given to fail()
    };
    Why why = Why::kOther;              ///< which of these
    std::vector<Waiting> waiting = {};  ///< waiting ranks, in the order of the cycle
    std::string sentence = {};          ///< for a person
  };
  /// The exception that posts and waits of a failed board throw.
  class Failed : public Error {
   public:
    /// With the sentence of the failure.
    explicit Failed(Failure failure)
        : Error(failure.sentence, Code::kWrongAnswer), failure_(std::move(failure)) {}
    /// Why.
    const Failure& failure() const { return failure_; }

   private:
    Failure failure_;
  };

  /// A board without posted operations; all clocks are at 0.
  explicit Switchboard(int world_size, SwitchboardOptions options = {});

  /// Posts operations of a rank at its present virtual time; the spans must stay valid until the ticket
  /// completes or the board fails. Bytes that one post sends to one peer count as one message in virtual
  /// time. A send and a receive of different lengths fail the board. Throws Failed if the board has failed.
  Ticket post(int rank, std::span<const Op> ops);

  /// The rank will not go on before this ticket is complete. True: it is complete already, the clock is set.
  /// False: the rank sleeps until is_waiting(rank) is false or the board has failed. Throws Failed if the
  /// board has failed or if this call closes a cycle of waits.
  bool begin_wait(int rank, Ticket ticket);

  /// Whether the rank still sleeps in begin_wait.
  bool is_waiting(int rank) const { return ranks_[static_cast<std::size_t>(rank)].waiting_for.has_value(); }

  /// The rank has ended and will post nothing more. Fails the board if another rank waits for it.
  void finish(int rank);

  /// Ends the run for all ranks: every later post and wait throws Failed with this reason. The first reason
  /// stays.
  void fail(const std::string& reason);
  /// Why the board has failed, if it has.
  const std::optional<Failure>& failure() const { return failure_; }

  /// Adds computing time to a rank's virtual clock.
  void advance(int rank, double seconds) { ranks_[static_cast<std::size_t>(rank)].clock += seconds; }
  /// A rank's virtual clock in seconds.
  double clock(int rank) const { return ranks_[static_cast<std::size_t>(rank)].clock; }

  /// Bytes delivered from one rank to another.
  Index delivered(int from, int to) const;

 private:
  struct Half {  // one side of a message, posted and not yet matched
    Ticket ticket;
    std::size_t op;  // its place in the post
    std::span<std::byte> bytes;
    double posted;       // virtual time
    std::size_t bundle;  // bytes that the same post moves between the same two ranks in the same direction
  };
  class Halves {  // first in, first out; a link mostly holds one at a time
   public:
    bool empty() const { return first_ == halves_.size(); }
    void push(const Half& half) { halves_.push_back(half); }
    Half pop();

   private:
    std::vector<Half> halves_;
    std::size_t first_ = 0;
  };
  struct Link {
    Halves sends, recvs;
    std::size_t sent = 0, received = 0;  // bytes of the present post
    Index delivered = 0;
  };
  struct Flight {  // matched, not yet delivered
    int from, to;
    Half send, recv;
  };
  struct Post {
    Ticket ticket = 0;     // 0: there is none in this slot
    int rank = 0;          // that has posted it
    std::vector<Op> ops;   // in the order posted; those that are matched have the peer kMatched
    int open = 0;          // operations not yet delivered; 0: complete, not yet waited for
    double completes = 0;  // virtual time of the latest delivery so far
  };
  struct Rank {
    double clock = 0;
    std::optional<Ticket> waiting_for;
    bool finished = false;
    std::uint64_t searched = 0;  // the last search for a deadlock that has met this rank
  };

  static constexpr int kMatched = -1;
  static constexpr Ticket kSlots = Ticket{1} << 24;  // a ticket modulo this is the slot of its post

  static std::uint64_t key(int from, int to) {
    return std::uint64_t{static_cast<std::uint32_t>(from)} << 32 | static_cast<std::uint32_t>(to);
  }
  Link& link(int from, int to) { return links_[key(from, to)]; }
  Post& new_post(int rank, std::span<const Op> ops);
  Post* find(Ticket ticket);
  void forget(Post& post);
  void match(int from, int to);
  void deliver(std::size_t flight);
  bool carried(const Flight& flight);
  void deliver_some();
  void complete(Post& post);
  bool anyone_runs() const;
  void find_deadlock(int rank);
  void fail(Failure failure);
  [[noreturn]] void fail_and_throw(Failure failure);
  void throw_if_failed() const;

  SwitchboardOptions options_;
  std::mt19937_64 random_;
  std::vector<Rank> ranks_;
  std::unordered_map<std::uint64_t, Link> links_;
  std::vector<Post> posts_;         // by slot: those not complete, or not waited for
  std::vector<std::size_t> slots_;  // free ones
  std::vector<Flight> flights_;
  Ticket posted_ = 0;  // posts so far
  std::uint64_t searches_ = 0;
  std::optional<Failure> failure_;
};

}  // namespace ringcraft
