#pragma once
/// @file
/// Team: one worker per rank, and the judge in the middle. A call gives every rank its arguments and collects
/// the replies; every message between ranks passes through a Switchboard here, so bytes, order and deadlock
/// are measured outside the reach of a student's program. Anything that a worker does instead of answering
/// becomes one sentence.

#include <chrono>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "judge/wire/protocol.hpp"
#include "judge/wire/wire.hpp"
#include "ringcraft/comm/refusal.hpp"
#include "ringcraft/comm/switchboard.hpp"

namespace ringcraft::judge {

/// A message that a rank has started.
struct Started {
  Op::Kind op;
  int peer;
  Index bytes;
  bool alone;  ///< no other message of the rank was in flight
};

/// The log of a rank in a call, also if not all ranks have answered.
struct RankLog {
  std::vector<Started> started = {};  ///< in its order
  bool answered = false;
};

/// A program did something other than answer. what() is the verdict in one sentence.
class Misbehaviour : public std::runtime_error {
 public:
  enum class Kind : std::uint8_t {
    kEnded,      ///< it crashed, called exit, was killed by a limit
    kSilent,     ///< it did not return in time
    kMessages,   ///< deadlock, lengths that disagree, a rank that ended while another waits for it
    kThrew,      ///< it threw an exception
    kMemory,     ///< it threw one for want of memory
    kUnwritten,  ///< it threw the exception of a skeleton: its body is not written yet
    kNonsense,   ///< it broke the protocol, or flooded a channel
  };

  /// `code` names it among those of its kind, "deadlock", and stays the same when the wording changes;
  /// `stack` are the places of the calls of a crash in the program's machine code, the innermost first.
  Misbehaviour(Kind kind, std::string code, const std::string& sentence,
               std::vector<std::uint64_t> stack = {})
      : std::runtime_error(sentence), kind_(kind), code_(std::move(code)), stack_(std::move(stack)) {}
  Kind kind() const { return kind_; }
  const std::string& code() const { return code_; }
  const std::vector<std::uint64_t>& stack() const { return stack_; }
  /// The reason for which a communicator has refused an operation of an exception (kThrew).
  Refusal refused() const { return refused_; }
  /// The log of each rank up to the failure, if ranks exchange messages.
  const std::vector<RankLog>& logs() const { return logs_; }
  /// The same with these words in front.
  Misbehaviour labelled(const std::string& label) const {
    return Misbehaviour(kind_, code_, label + what(), stack_).knowing(logs_).because(refused_);
  }
  /// The same with a communicator's reason.
  Misbehaviour because(Refusal refused) const {
    Misbehaviour more = *this;
    more.refused_ = refused;
    return more;
  }
  /// The same with the log of each rank.
  Misbehaviour knowing(std::vector<RankLog> logs) const {
    Misbehaviour more = *this;
    more.logs_ = std::move(logs);
    return more;
  }

 private:
  Kind kind_;
  std::string code_;
  std::vector<std::uint64_t> stack_;
  std::vector<RankLog> logs_ = {};
  Refusal refused_ = Refusal::kNone;
};

/// How the messages of a call are delivered. A right program cannot tell.
struct DeliveryOptions {
  std::uint64_t seed = 0;               ///< of the Switchboard; 0: at once and in order
  Sending sending = Sending::kAtStart;  ///< the time at which the bytes of a send leave
  LinkCost link = {};                   ///< the cost of a message in virtual time
};

/// The results of a call.
struct CallRecord {
  std::vector<Bytes> replies;  ///< per rank
  std::vector<Index> bytes;    ///< moved from rank i to rank j: bytes[i * N + j]
  std::vector<double>
      clocks;  ///< virtual seconds of each rank: only messages cost, as DeliveryOptions::link says
  std::vector<int> under_way;      ///< messages that each rank had started and not waited for, at most
  std::vector<RankLog> logs = {};  ///< per rank

  /// Bytes moved from one rank to another.
  Index moved(int from, int to) const {
    return bytes[static_cast<std::size_t>(from) * replies.size() + static_cast<std::size_t>(to)];
  }
};

/// The number of threads that a worker may have.
enum class Threads : bool { kOne, kMany };

/// Whether sentences repeat the words of a student's program: of exceptions and assertions, and its output.
/// They may hold any number that it was given.
enum class Words : bool { kShown, kHidden };

/// Requirements of a check on its workers beyond the usual ones.
struct Asked {
  bool fresh = false;                       ///< processes that have served no call yet
  std::uint64_t address_bytes = 0;          ///< memory of each, its code included; 0: as usual
  Placement placement = Placement::kAtEnd;  ///< of the arguments of its calls
};

/// The workers of a check: processes (Team), or threads of a debugged program (debug/thread_team.hpp).
class Workers {
 public:
  virtual ~Workers() = default;
  /// A check begins: its calls count from 1, and earlier output is discarded.
  virtual void begin_check(const Asked& asked) = 0;
  /// Calls an exercise once on requests.size() ranks. Throws Misbehaviour if any rank does not answer.
  virtual CallRecord call(const std::string& exercise, const std::vector<Bytes>& requests,
                          DeliveryOptions delivery) = 0;
  /// The output since begin_check, cleaned of control characters, as far as it was kept; empty if it is
  /// hidden.
  virtual std::string printed() = 0;
  /// Ends all workers that are processes; the next call starts others.
  virtual void end() = 0;
  /// The processor seconds that the running workers have spent so far. Unlike wall-clock time, they do not
  /// include other programs.
  virtual double processor_seconds() const = 0;
};

/// The last line that a program printed; of an assertion of the standard library only its condition.
std::string last_words(std::string_view text);
/// The output of a program, without the line in which an assertion of the standard library ended it: the
/// sentence quotes that line.
std::string without_assertion(const std::string& printed);

/// The code of failed messages.
std::string code_of(const Switchboard::Failure& failure);
/// The kind of an exception in a student's program.
Misbehaviour::Kind kind_of(Thrown thrown);
/// Words of ours for an exception whose own ones are hidden: why a communicator has thrown it, if one has.
std::string described(Refusal refused);

/// "your program" if it is alone, "rank 2" among several.
std::string name_of_rank(int rank, int world_size);

struct Member;  // one worker (round.hpp)

/// The workers of a file. They live across checks: until the team ends, one of them misbehaves, or a check
/// needs others.
class Team final : public Workers {
 public:
  /// Workers run `program`; a call may take this long, and all together a multiple of it.
  /// `threads`: the limit of a worker, where it can be locked up. `sees_itself`: workers have it open for
  /// reading, to find the symbol of an address.
  Team(std::filesystem::path program, std::chrono::milliseconds per_call, bool sees_itself = false,
       Threads threads = Threads::kMany, Words words = Words::kShown);
  ~Team() override;

  /// Ends the workers if the check needs others.
  void begin_check(const Asked& asked) override;
  /// After a Misbehaviour all workers are ended.
  CallRecord call(const std::string& exercise, const std::vector<Bytes>& requests,
                  DeliveryOptions delivery) override;
  std::string printed() override;
  void end() override;
  double processor_seconds() const override;

 private:
  std::string said();
  std::filesystem::path program_of_next() const;

  std::filesystem::path program_;
  std::chrono::milliseconds per_call_;
  bool sees_itself_;
  Threads threads_;
  Words words_;
  Asked asked_;
  std::vector<std::unique_ptr<Member>> members_;
  std::string printed_;
  int calls_ = 0;
  std::chrono::steady_clock::duration spent_{};  // in all calls
  double computed_ = 0;                          // seconds of processors in them
};

/// The environment of a program with a student's code: only settings that make a sanitizer leave crashes to
/// the judge, and not report the memory that a killed program still holds.
std::vector<std::string> worker_environment();

/// Text of a student's program for a report: at most `limit` bytes, control characters replaced.
std::string cleaned(std::string_view text, std::size_t limit);

}  // namespace ringcraft::judge
