// Predict 305: which of six rings touch memory that a message still uses, in which step, and how long the
// right ones take. The schedule checker and the clocks of the library give every answer; the seed chooses the
// sizes.
#include <algorithm>

#include "judge/puzzle/puzzle_kinds.hpp"
#include "ringcraft/core/random.hpp"
#include "ringcraft/ring/timed_ring.hpp"
#include "verify/schedule/schedule_text.hpp"

namespace ringcraft::judge {
namespace {

struct RaceSizes {
  int ranks;
  double compute, hop;  // seconds of a block
};

RaceSizes race_sizes(std::uint64_t seed) {
  Random random(seed);
  const int ranks = static_cast<int>(random.integer(4, 6));
  return {ranks, static_cast<double>(random.integer(4, 9)), static_cast<double>(random.integer(1, 3))};
}

// A rank's turn in one step: the block in hand, and the one that arrives.
struct Turn {
  int rank, step, next, previous, block, arriving, buffers;
  bool last;

  std::string send() const { return "send K" + std::to_string(block) + " to " + std::to_string(next); }
  // Into one of the ring buffers, in turn.
  std::string recv(int of) const {
    return "recv K" + std::to_string(arriving) + " from " + std::to_string(previous) + " into " +
           static_cast<char>('A' + step % of);
  }
  std::string compute() const { return "compute q" + std::to_string(rank) + " k" + std::to_string(block); }
  std::string wait_for(int what) const { return "wait K" + std::to_string(what); }
};

// A loop in words, and a rank's turn of it.
struct Program {
  std::vector<std::string> words;
  bool overlaps;  // its messages travel while it computes
  std::string (*turn)(const Turn&);
};

const Program kPrograms[] = {
    {{"start({send current, receive into arriving})", "compute(current)", "wait for both", "swap"},
     true,
     [](const Turn& t) {
       return t.last ? t.compute() : t.send() + ", " + t.recv(2) + ", " + t.compute() + ", wait";
     }},
    {{"start({send current, receive into ring}), where ring is current from step 1 on", "compute(current)",
      "wait for both"},
     true,
     [](const Turn& t) {
       return t.last ? t.compute() : t.send() + ", " + t.recv(1) + ", " + t.compute() + ", wait";
     }},
    {{"start({send current, receive into arriving})", "wait for both", "compute(current)", "swap"},
     false,
     [](const Turn& t) {
       return t.last ? t.compute() : t.send() + ", " + t.recv(2) + ", wait, " + t.compute();
     }},
    {{"start({send current, receive into arriving})", "compute(current)",
      "wait for both of the step before, if there is one", "swap"},
     true,
     [](const Turn& t) {
       const std::string begin = t.last ? "" : t.send() + ", " + t.recv(2) + ", ";
       return begin + t.compute() + (t.step > 0 ? ", " + t.wait_for(t.block) : "") + (t.last ? ", wait" : "");
     }},
    {{"start({receive into arriving})", "compute(current)", "start({send current})", "wait for both", "swap"},
     false,
     [](const Turn& t) {
       return t.last ? t.compute() : t.recv(2) + ", " + t.compute() + ", " + t.send() + ", wait";
     }},
    {{"start({receive into arriving})", "compute(current)", "start({send current})",
      "wait for the receive; for the sends after the last step", "swap"},
     false,
     [](const Turn& t) {
       return t.last
                  ? t.compute() + ", wait"
                  : t.recv(t.buffers) + ", " + t.compute() + ", " + t.send() + ", " + t.wait_for(t.arriving);
     }},
};
constexpr std::size_t kPatient = 5;  // the one that asks for more buffers

std::string schedule_of(const Program& program, int ranks, int steps, int buffers) {
  const auto modulo = [ranks](int r) { return (r % ranks + ranks) % ranks; };
  std::string text = "ranks " + std::to_string(ranks) + "\ntokens " + std::to_string(ranks) + "\n";
  for (int step = 0; step < steps; ++step) {
    text += "step " + std::to_string(step) + "\n";
    for (int rank = 0; rank < ranks; ++rank)
      text += std::to_string(rank) + ": " +
              program.turn({rank, step, modulo(rank + 1), modulo(rank - 1), modulo(rank - step),
                            modulo(rank - step - 1), buffers, step == ranks - 1}) +
              "\n";
  }
  return text;
}

// Whether the first steps of a program touch memory that a message uses.
bool races(const Program& program, int ranks, int steps, int buffers = 2) {
  const auto written = verify::parse_schedule(schedule_of(program, ranks, steps, buffers), "program");
  return prove_schedule(written.trace, written.problem, written.goal, written.notes)
      .broken(verify::ScheduleClaim::kMemory);
}

// The first step with a race; -1: there is none.
int first_race(const Program& program, int ranks) {
  for (int steps = 1; steps <= ranks; ++steps)
    if (races(program, ranks, steps)) return steps - 1;
  return -1;
}

// Without overlap the exchange is a step of its own, in which nothing is computed.
double seconds(const Program& program, const RaceSizes& s) {
  TimedRing ring;
  for (int t = 0; t < s.ranks; ++t) {
    const std::vector<double> computing(static_cast<std::size_t>(s.ranks), s.compute);
    ring.computing.push_back(computing);
    if (t == s.ranks - 1) break;
    if (!program.overlaps) ring.computing.push_back(std::vector<double>(computing.size(), 0.0));
    const int step = static_cast<int>(ring.computing.size()) - 1;
    for (int rank = 0; rank < s.ranks; ++rank)
      ring.transfers.push_back({step, rank, (rank + 1) % s.ranks, RingTransfer::kBlock, s.hop});
  }
  return ring_clocks(ring).ends[0];
}

std::vector<PuzzleRow> race_rows() {
  return {{"races",
           4,
           {},
           "The first step of each program that touches memory while a message uses it.",
           "For each buffer: between which start and which wait does a message read or write it, and which "
           "line falls between?",
           {}},
          {"time",
           2,
           {},
           "The seconds of the right programs.",
           "Does the exchange stand beside the computing or before or after it?",
           {}},
          {"buffers",
           2,
           {},
           "The ring buffers that make one program right.",
           "A buffer is free again when its send has been waited for: when is that?",
           {}}};
}

Form race_form(std::uint64_t seed) {
  const RaceSizes s = race_sizes(seed);
  Random random(seed + 1);
  std::vector<std::size_t> order{0, 1, 2, 3, 4, 5};
  for (std::size_t i = order.size(); i > 1; --i)
    std::swap(order[i - 1], order[static_cast<std::size_t>(random.integer(0, static_cast<Index>(i) - 1))]);
  Sheet sheet;
  sheet.begin(RINGCRAFT_PUZZLE, seed);
  sheet.say(std::to_string(s.ranks) +
            " ranks, full attention. Each program is the loop of every rank for steps 0 to " +
            std::to_string(s.ranks - 2) + "; step " + std::to_string(s.ranks - 1));
  sheet.say(
      "computes with the last block. current is the own block at first, never received into; arriving is "
      "one");
  sheet.say(
      "of two ring buffers, in turn, unless the program says otherwise; swap makes arriving the current "
      "one.");
  sheet.say("The first step that touches memory which a message still uses; -1 if there is none.");
  std::vector<double> right;
  char patient = ' ';
  for (std::size_t i = 0; i < order.size(); ++i) {
    const Program& program = kPrograms[order[i]];
    const char name = static_cast<char>('A' + i);
    sheet.gap();
    for (const std::string& line : program.words) sheet.say(std::string("  ") + line);
    const int step = first_race(program, s.ranks);
    sheet.ask("races", std::string("program ") + name + ", step:", std::vector{step});
    if (step < 0) right.push_back(seconds(program, s));
    if (order[i] == kPatient) patient = name;
  }
  sheet.gap();
  sheet.say("A block is computed in " + std::to_string(static_cast<int>(s.compute)) +
            " seconds, and a hop takes " + std::to_string(static_cast<int>(s.hop)) +
            ". The shortest and the longest of the programs without a race.");
  sheet.ask("time", "seconds:", std::vector{std::ranges::min(right), std::ranges::max(right)});
  sheet.gap();
  int buffers = 2;
  while (races(kPrograms[kPatient], s.ranks, s.ranks, buffers)) ++buffers;
  sheet.say(std::string("With how many ring buffers, in turn, does program ") + patient + " have no race?");
  sheet.ask("buffers", "ring buffers, at least:", std::vector{buffers});
  return {sheet.lines(), race_rows()};
}

}  // namespace

template <>
Puzzle puzzle_of<RINGCRAFT_PUZZLE>() {
  return prediction(RINGCRAFT_PUZZLE, "Six rings, three races",
                    "say in which step each program touches memory that a message still uses", race_form);
}

}  // namespace ringcraft::judge
