// Design the schedule 303: a causal ring need not be closed. The schedule checker proves that the student's
// text is right; the goals are numbers.
#include <algorithm>
#include <memory>
#include <optional>
#include <set>

#include "judge/checks/lesson.hpp"
#include "judge/puzzle/puzzle_kinds.hpp"
#include "ringcraft/core/error.hpp"
#include "ringcraft/core/shown.hpp"
#include "ringcraft/ring/messages.hpp"
#include "verify/schedule/schedule_text.hpp"

namespace ringcraft::judge {
namespace {

using verify::ScheduleClaim;
using verify::WrittenSchedule;

constexpr int kMostBlocks = 3;  // in the memory of a rank, its own included

Problem asked() { return make_problem({.seqlen = 8, .head_dim = 1}, causal_mask(), Layout::kContiguous, 4); }

// A schedule, and the result of its proof.
struct Proved {
  WrittenSchedule written;
  verify::ScheduleProof proof;
};

void require_asked(const WrittenSchedule& written) {
  const Problem want = asked();
  const Problem& got = written.problem;
  if (got.shape != want.shape || got.mask != want.mask || got.layout != want.layout ||
      got.world_size != want.world_size || written.goal.backward)
    throw Wrong(sign::kValues, "other-problem",
                "the problem has changed: keep the lines 'ranks 4', 'tokens 8' and 'mask causal', and no "
                "others above step 0");
}

void require_claim(const Proved& proved, ScheduleClaim claim) {
  std::string sentence;
  for (const verify::Violation& violation : proved.proof.violations)
    if (violation.claim == claim) sentence += (sentence.empty() ? "" : "\n") + violation.sentence;
  if (!sentence.empty()) throw Wrong(sign::kValues, "schedule", "{}", sentence);
  if (claim == ScheduleClaim::kPairs && !proved.proof.replay.complete)
    throw Wrong(sign::kValues, "no-end", "the ranks do not reach the end");
}

// Elements that arrive on all ranks.
Index moved_by(const Trace& trace) {
  Index sum = 0;
  for (int rank = 0; rank < trace.world_size(); ++rank)
    for (const TraceEvent& event : trace.rank(rank).events())
      for (const TracedMessage& message : event.messages)
        if (message.kind == Op::kSend) sum += message.bytes.size;
  return sum;
}

// The blocks that some rank needs and does not own.
Index needed(const Problem& problem) {
  Index sum = 0;
  for (int rank = 0; rank < problem.world_size; ++rank)
    for (int block = 0; block < problem.world_size; ++block)
      if (block != rank && key_ranges(problem, rank, block).pairs() > 0)
        sum += 2 * problem.kv_extents(block).elements();
  return sum;
}

// Every block through all hops.
Index ring_moves(const Problem& problem) {
  const auto all = std::make_shared<const std::vector<int>>(problem.world_size, hops(problem));
  Index sum = 0;
  for (const RingTransfer& transfer : ring_messages(problem, Pass::kForward, Schedule::kForward, all))
    sum += transfer.elements;
  return sum;
}

void require_few_bytes(const Proved& proved) {
  const Index moved = moved_by(proved.written.trace), least = needed(asked()), ring = ring_moves(asked());
  if (moved > least)
    throw Wrong(sign::kValues, "numbers", "the ranks send {}, a closed ring sends {}, and {} are enough",
                Shown{static_cast<double>(moved), counted(moved, "number")}, ring, least);
}

void require_few_steps(const Proved& proved) {
  int rounds = 0;  // of messages; computing goes on beside them, and once after the last
  for (const auto& rank : proved.proof.replay.events)
    for (const verify::ReplayedEvent& event : rank) rounds = std::max(rounds, event.rounds);
  if (rounds + 1 > asked().world_size)
    throw Wrong(
        sign::kValues, "steps",
        "it takes {}, and {} are enough: a message that cannot leave before another has arrived is of a "
        "later step, whatever its label",
        Shown{static_cast<double>(rounds + 1), counted(rounds + 1, "step")}, asked().world_size);
}

void require_little_memory(const Proved& proved) {
  const Trace& trace = proved.written.trace;
  for (int rank = 0; rank < trace.world_size(); ++rank) {
    std::set<std::uintptr_t> places;
    for (const TraceEvent& event : trace.rank(rank).events()) {
      for (const TracedMessage& message : event.messages)
        if (message.kind == Op::kRecv) places.insert(message.bytes.address);
      if (event.kind == TraceEvent::kHolds)
        for (const TracedTensor& tensor : event.tensors) places.insert(tensor.bytes.address);
    }
    if (static_cast<int>(places.size()) > kMostBlocks)
      throw Wrong(sign::kValues, "memory",
                  "rank {} has memory for {} blocks, its own included, and {} are enough", rank,
                  places.size(), kMostBlocks);
  }
}

std::vector<PuzzleRow> rows(const Submission& handed_in) {
  const auto proved = std::make_shared<std::optional<Proved>>();
  const auto claimed = [=](ScheduleClaim claim) { return [=] { require_claim(**proved, claim); }; };
  return {
      {"reads",
       0,
       {},
       "The file is a schedule of the problem that was given.",
       "Each line of a step says what one rank does, between commas, in order.",
       [proved, &handed_in] {
         WrittenSchedule written = verify::parse_schedule(handed_in.text, handed_in.file.filename().string());
         require_asked(written);
         auto proof = prove_schedule(written.trace, written.problem, written.goal, written.notes);
         proved->emplace(std::move(written), std::move(proof));
       }},
      {"messages",
       0,
       {"reads"},
       "Every send has its receive, and delivers the right block.",
       "Which rank holds this block at this step, and does the other side expect it?",
       claimed(ScheduleClaim::kMessages)},
      {"progress",
       0,
       {"reads"},
       "No rank waits forever, at any timing.",
       "Follow the sentence from rank to rank: which should have started its half of the message earlier?",
       claimed(ScheduleClaim::kProgress)},
      {"memory",
       0,
       {"reads"},
       "No buffer is read or overwritten while its message is in flight.",
       "Between a start and its wait the network owns the memory: wait first, or receive elsewhere.",
       claimed(ScheduleClaim::kMemory)},
      {"pairs",
       5,
       {"messages", "progress", "memory"},
       "Every visible pair of blocks is computed exactly once.",
       "Rank r sees the blocks 0 to r: has it computed with each of them?",
       claimed(ScheduleClaim::kPairs)},
      {"bytes",
       3,
       {"pairs"},
       "No rank gets a block that it does not need.",
       "Which rank needs block 3? Which ranks need block 0? Where should each of them stop?",
       [=] { require_few_bytes(**proved); }},
      {"steps",
       1,
       {"pairs"},
       "It takes no more steps than a ring.",
       "All blocks may travel at the same time: no rank has to wait for block 0 to arrive.",
       [=] { require_few_steps(**proved); }},
      {"buffers",
       1,
       {"pairs"},
       "No rank has memory for more than three blocks.",
       "Two pieces of memory that alternate, A and B, are enough beside the own block.",
       [=] { require_little_memory(**proved); }}};
}

}  // namespace

template <>
Puzzle puzzle_of<RINGCRAFT_PUZZLE>() {
  return {.id = RINGCRAFT_PUZZLE,
          .kind = "design the schedule",
          .title = "Half of the bytes",
          .task = "plan every message of a causal ring, so that no rank gets a block that it does not need",
          .file = "schedule.txt",
          .given = [](std::uint64_t) { return given_file(RINGCRAFT_PUZZLE, "schedule.txt"); },
          .rows = rows};
}

}  // namespace ringcraft::judge
