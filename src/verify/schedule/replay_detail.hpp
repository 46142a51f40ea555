#pragma once
/// @file
/// The interpreter that implements replay(), shared by its source files; internal to the harness.
///   replay.cpp           single events, messages, and memory in flight
///   replay_blocks.cpp    computations, their blocks, and gradients
///   replay_ends.cpp      stuck ranks and unmatched messages at the end
///   rows/replay_rows.cpp tensors in pieces, queries, and results

#include <deque>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "verify/schedule/replay.hpp"
#include "verify/schedule/rows/tensor_rows.hpp"

namespace ringcraft::verify {

/// One message, seen from one side.
struct Half {
  int rank = 0;
  std::size_t event = 0, message = 0;
};

/// The tensor of this name that a computation touches this way; null if there is none.
const TracedTensor* tensor_of(const TraceEvent& event, std::string_view name, TracedTensor::Access access);

/// Runs the events of all ranks until they end or are stuck.
class Replayer {
 public:
  /// All arguments must outlive it.
  Replayer(const Trace& trace, const Problem& problem, const ScheduleNotes& notes, int degree);
  /// Runs the whole replay; called once.
  Replay run();

 private:
  struct Posted {               // a message after its start
    std::vector<Piece> pieces;  // contents of a send
    std::optional<Half> other;  // the other side, once it is posted too
  };
  struct Rank {
    std::size_t next = 0;                               // event
    int computed = 0;                                   // blocks since the last kHolds
    std::vector<std::size_t> open;                      // starts not waited for yet
    std::map<std::size_t, std::vector<Posted>> posted;  // by start
    SymbolicMemory memory;
    std::vector<TracedBytes> written;              // in this order, by messages and results
    std::map<std::string_view, TracedBytes> kept;  // q, O, dq, ... of the block before
    std::set<std::string_view> lost;               // those of them that something has overwritten since
    TraceEvent::Kind pass = TraceEvent::kHolds;    // of the block before
    std::optional<Content> queries;                // of the block before
    bool computed_forward = false;                 // some block
  };
  struct Link {
    std::deque<Half> sends, recvs;  // posted, without another side
  };

  const std::vector<TraceEvent>& events(int rank) const { return trace_.rank(rank).events(); }
  const TraceEvent& event(int rank, std::size_t number) const { return events(rank)[number]; }
  const TracedMessage& message(const Half& half) const {
    return event(half.rank, half.event).messages[half.message];
  }
  Rank& self(int rank) { return ranks_[static_cast<std::size_t>(rank)]; }
  bool stuck(int rank) { return self(rank).next < events(rank).size(); }
  ReplayedEvent& found(int rank, std::size_t number) {
    return result_.events[static_cast<std::size_t>(rank)][number];
  }
  std::string& label(const Half& half) { return found(half.rank, half.event).labels[half.message]; }
  std::size_t content(Content content);
  void put(int rank, TracedBytes bytes, const std::vector<Piece>& pieces);
  void lose(int rank, TracedBytes bytes);

  // Sentences.
  const ScheduleNote* note(int rank, std::size_t number) const;
  std::string claimed(const Half& half) const;
  std::string place(int rank, std::size_t number);
  std::string described(const Half& half);
  std::string named(const std::vector<Piece>& pieces, Index size) const;
  void violate(ScheduleClaim claim, int rank, std::size_t number, const std::string& what);

  // Events and messages (replay.cpp).
  bool step(int rank);
  int rounds_before(int rank, std::size_t number);
  void hold(int rank, std::size_t number);
  void start(int rank, std::size_t number);
  void post(const Half& half);
  void match(const Half& send, const Half& recv);
  bool arrived(int rank, std::size_t start);
  void wait(int rank, std::size_t start);
  void require_free(const Half& mine);
  void require_untouched(int rank, std::size_t number);

  // Blocks and gradients (replay_blocks.cpp).
  const Content* whole(int rank, TracedBytes bytes);
  std::string holding(int rank, TracedBytes bytes);
  std::optional<Content> keys_of(int rank, std::size_t number);
  void compute(int rank, std::size_t number);
  void require_ranges(int rank, std::size_t number, const Content& queries, const Content& keys);
  void require_claim(int rank, std::size_t number, const Content& keys);
  void require_saved(int rank, std::size_t number);
  void require_kept(int rank, std::size_t number, bool same_queries);
  void keep(int rank, const TraceEvent& event);
  void write_results(int rank, std::size_t number);
  void add(int rank, std::size_t number);
  std::optional<std::vector<Piece>> added(int rank, TracedBytes into, TracedBytes from);

  // Rows and heads (rows/replay_rows.cpp).
  void find_statements();
  std::optional<Content> tensor(int rank, TracedBytes bytes, Content::Kind kind);
  std::optional<Content> queries_of(int rank, std::size_t number);
  void require_heads(int rank, std::size_t number, const Content& queries, const Content& keys);
  void require_inputs(int rank, std::size_t number, const Content& queries);
  void clear(int rank, std::size_t number);
  Content with_share(int rank, std::size_t number, const TracedTensor& tensor, const Content& queries,
                     int block);
  void copy(int rank, std::size_t number);
  void give(int rank, std::size_t number);

  // Ends (replay_ends.cpp).
  void finish();
  void list_gradients(int rank);
  std::vector<Half> missing(int rank);
  void report_stuck();
  void report_cycle(const std::vector<Half>& cycle);
  void report_left_over(const Link& link);

  const Trace& trace_;
  const Problem& problem_;
  const ScheduleNotes& notes_;
  TensorRows rows_;
  bool holds_queries_ = false, holds_dout_ = false;  // the trace says where they are
  bool clears_sums_ = false;                         // and where sums begin
  std::vector<Rank> ranks_;
  std::deque<Content> contents_;  // a deque, because references must stay valid
  std::map<std::pair<int, int>, Link> links_;
  Replay result_;
};

}  // namespace ringcraft::verify
