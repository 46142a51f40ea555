#pragma once
/// @file
/// The parts of the schedule parser, shared by its source files; internal to the harness.
///   schedule_text.cpp   the lines of a text
///   schedule_header.cpp   the lines before the first step: the problem
///   schedule_rank.cpp   the operations of one rank: block names become addresses of made-up memory

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ringcraft/ring/route.hpp"
#include "verify/schedule/schedule_text.hpp"

namespace ringcraft::verify {

/// Words of a line, between blanks.
using Words = std::vector<std::string>;
/// Splits a line.
Words words_of(const std::string& text);

/// The location of an error, and the message about it.
struct Place {
  const std::string& file;
  int line = 0;

  /// Throws Error "FILE:LINE: expected ..., got '...'".
  [[noreturn]] void refuse(const std::string& expected, const std::string& actual) const;
  /// A number between low and high, both included; `what` names it.
  Index number(const std::string& word, Index low, Index high, const std::string& what) const;
};

/// The lines before the first step.
struct ScheduleHeader {
  std::optional<Index> ranks, tokens;
  Layout layout = Layout::kContiguous;
  Mask mask;
  bool per_sequence = false;  ///< packed LIST each
  bool backward = false;      ///< pass backward
  bool reversed = false;      ///< pass backward reversed
  bool costs = false;         ///< costs ring

  /// Reads one line.
  void read(const Place& place, const Words& words);
  /// The problem that the lines describe.
  Problem problem(const Place& place) const;
  /// The goal of a schedule with these lines.
  ScheduleGoal goal() const;

 private:
  void read_mask(const Place& place, const Words& words);
  void read_pass(const Place& place, const Words& words);
};

/// Writes the operations of one rank into its trace. All references must outlive it.
class RankWriter {
 public:
  /// Begins with the blocks that the rank holds first.
  RankWriter(const Problem& problem, const ScheduleHeader& head, int rank, RankTrace& trace,
             std::vector<ScheduleNote>& notes);
  /// Writes the operations of one line.
  void line(const Place& place, int step, const std::string& operations);

 private:
  struct Open {  // a start not waited for yet
    std::size_t event;
    std::vector<std::string> names;
  };

  void hold(int owner);
  void run(const Words& words);
  int block_of(const std::string& name, const std::string& prefix, const std::string& what);
  int block_of(const std::string& name);
  int gradient_block_of(const std::string& name);
  std::string buffer_named(const std::string& name);
  TracedBytes bytes(const std::string& buffer, int block);
  TracedBytes place_of(const std::string& name, int block);
  void message(Op::Kind kind, const Words& words, const std::string& buffer);
  void compute(const std::string& query, const std::string& key, const std::string& buffer);
  void add(const std::string& name);
  void wait(const std::string& name);
  void flush();
  void write(TraceEvent event, const ScheduleNote& note);
  Index held() const;

  const Problem& problem_;
  const ScheduleHeader& head_;
  int rank_;
  RankTrace& trace_;
  std::vector<ScheduleNote>& notes_;
  Route route_;
  const Place* place_ = nullptr;
  int step_ = 0;
  std::map<std::string, std::uintptr_t> addresses_;  // by the name of the memory
  Index buffers_ = 0;                                // total size besides the first block
  std::map<std::string, std::string> where_;         // memory of each block, by its name
  TraceEvent pending_;                               // the current run of sends and receives
  ScheduleNote pending_note_;
  std::vector<Open> open_;
  std::string share_;  // memory of the last computation's share of a gradient; empty once it is a sum
  int share_block_ = 0, shares_begun_ = 0;
};

}  // namespace ringcraft::verify
