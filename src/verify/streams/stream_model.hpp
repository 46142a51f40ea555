#pragma once
/// @file
/// A model of devices with two streams for each rank. It plays a program: a stream works through its entries
/// in order, a message moves when both its halves are at the head of their streams, and nothing else orders
/// anything but events. Vector clocks say which accesses to memory are ordered; what is not, is a race.

#include <string>
#include <vector>

#include "verify/streams/stream_program.hpp"

namespace ringcraft::verify {

/// A mistake in the order of calls.
struct StreamFinding {
  /// Its kind.
  enum Kind : std::uint8_t {
    kOpenGroup,         ///< a start ends with its group still open
    kUnopenedGroup,     ///< a group is closed that was not opened
    kForeignEvent,      ///< an event that is not one of this exchange
    kUnrecorded,        ///< a wait for an event that no record precedes
    kNoSuchRank,        ///< a peer that is the rank itself or not there
    kOtherOperation,    ///< an operation that was not asked for, or for the second time
    kMissingOperation,  ///< an operation that was asked for and is not there
    kMixedUp,           ///< a send meets another receive than its own
    kDeadlock,          ///< all wait and nothing moves
    kReceiveTooEarly,   ///< bytes may arrive before the computation before the start has ended with this
                        ///< memory
    kSendTooEarly,      ///< bytes may leave before the computation before the start has written them
    kComputeTooEarly,   ///< a computation after the wait may begin before the bytes are there
    kOverwritten,       ///< a computation after the wait may overwrite bytes that have not left
    kExchanges,         ///< two exchanges use the same memory at once
    kHostWaits,         ///< the host waits for a stream
    kOnCompute,         ///< an operation on the compute stream
    kNoOverlap,         ///< a computation between start and wait begins only after the exchange
  };

  Kind kind;
  int rank;                 ///< where
  int exchange;             ///< which one of the rank; -1: none
  int peer = -1;            ///< of an operation
  Op::Kind op = Op::kSend;  ///< of an operation
  int step = -1;            ///< of a race and a lost overlap: the computation, counted from 0

  friend bool operator==(const StreamFinding&, const StreamFinding&) = default;
};

/// The finding in one sentence without a full stop: "rank 0 ...".
std::string sentence_of(const StreamFinding& finding);

/// An entry of a stream that has run, for a timeline.
struct StreamSpan {
  int rank;
  RankStream stream;
  double begin, end;  ///< seconds in virtual time
  int exchange;       ///< -1: a computation
};

/// The outcome of a program.
struct StreamRun {
  std::vector<StreamFinding> findings;  ///< the first of each kind on each rank; empty: right
  std::vector<StreamSpan> spans;        ///< of computations and messages
  double end = 0;                       ///< seconds, in virtual time
};

/// Virtual time of the two kinds of work, in seconds.
struct StreamCosts {
  double compute = 3, exchange = 2;
};

/// Plays it.
StreamRun play(const StreamProgram& program, const StreamCosts& costs = {});

}  // namespace ringcraft::verify
