#pragma once
/// @file
/// Round: one call of an exercise on all ranks of a team. It moves the ranks' messages through a Switchboard
/// until every rank has answered, and ends with a sentence as soon as one of them does anything else.

#include <map>
#include <memory>
#include <optional>
#include <span>

#include "judge/run/team.hpp"
#include "judge/wire/connection.hpp"
#include "process/child.hpp"
#include "ringcraft/comm/switchboard.hpp"

namespace ringcraft::judge {

/// Bytes that a worker may print.
inline constexpr std::size_t kWorkerOutput = std::size_t{64} << 10;
/// Threads that a worker may have at one time. No exercise needs one.
inline constexpr std::size_t kMostThreads = 256;

/// Time limits that pass, on a busy machine, before a program that still computes, or sends, is too late.
inline constexpr int kMostPatience = 6;

/// One worker: its process, and its wire.
struct Member {
  /// Starts the program, limited and with an empty environment.
  Member(const std::filesystem::path& program, const Asked& asked, bool sees_itself, Threads threads);

  process::Child child;
  Connection connection;
  bool ready = false;  ///< its main has begun
};

/// Seconds of processors that these workers have had.
double processor_seconds_of(std::span<const std::unique_ptr<Member>> members);

/// The state of a round: ranks that have answered, ranks that wait, messages in flight.
class Round {
 public:
  /// One member per rank; `call` is "call 3 of merge", for sentences.
  Round(std::span<const std::unique_ptr<Member>> members, std::string call, DeliveryOptions delivery,
        Words words)
      : members_(members),
        call_(std::move(call)),
        words_(words),
        board_(static_cast<int>(members.size()), {.delivery_seed = delivery.seed, .link = delivery.link}),
        ranks_(members.size()) {}

  /// Returns when every rank has answered. Throws Misbehaviour otherwise: after this time, or, on a busy
  /// machine, when the ranks no longer move messages or have computed for as long, at the latest after six
  /// times the limit.
  CallRecord run(std::chrono::milliseconds limit);

 private:
  struct Posted {  // operations of a rank, with their bytes
    Switchboard::Ticket ticket = 0;
    std::vector<Op> ops;
    std::vector<Bytes> memory;
  };
  struct Rank {
    std::map<std::uint64_t, Posted> posts;  // by the worker's own ticket
    std::optional<std::uint64_t> waits_for;
    std::optional<Bytes> reply;
    std::vector<std::uint64_t> stack;  // of a crash
    Stray stray = {};                  // what led to it
    std::uint64_t frames = 0, bytes = 0;
    int under_way = 0, most_under_way = 0;  // operations
    std::vector<Started> started = {};
  };

  int size() const { return static_cast<int>(ranks_.size()); }
  Rank& at(int rank) { return ranks_[static_cast<std::size_t>(rank)]; }
  Member& member(int rank) const { return *members_[static_cast<std::size_t>(rank)]; }
  std::string who(int rank) const { return name_of_rank(rank, size()); }
  [[noreturn]] void misbehaved(Misbehaviour::Kind kind, const std::string& code, int rank,
                               const std::string& what, const char* when = " in ",
                               Refusal refused = Refusal::kNone) const {
    throw Misbehaviour(kind, code, who(rank) + " " + what + when + call_,
                       ranks_[static_cast<std::size_t>(rank)].stack)
        .because(refused);
  }

  CallRecord record_of_all(std::chrono::milliseconds limit);
  std::vector<RankLog> logs() const;
  bool all_answered() const;
  void wait_for_something(process::Clock::time_point deadline);
  void serve(int rank);
  void handle(int rank, Frame frame);
  void post(int rank, Reader from);
  void wait(int rank, std::uint64_t ticket);
  void wake_all();
  void send_received(int rank, std::uint64_t ticket);
  static void crashed(Rank& self, const Bytes& bytes);
  void charge(Rank& self, std::uint64_t bytes) const;
  [[noreturn]] void too_late(std::chrono::milliseconds limit);
  [[noreturn]] void ended(int rank);
  void throw_if_board_failed() const;

  std::span<const std::unique_ptr<Member>> members_;
  std::string call_;
  Words words_;
  Switchboard board_;
  std::vector<Rank> ranks_;
};

}  // namespace ringcraft::judge
