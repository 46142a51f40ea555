// Predict 305: whether a hop hides, from which shard length on, and what stays exposed, for three models on
// one machine. The library's rings and clocks give every answer, and a known mistake is the same answer for
// other figures; the seed chooses the figures.
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "judge/puzzle/puzzle_kinds.hpp"
#include "lessons/305_overlap/puzzles/hiding/figures.hpp"
#include "ringcraft/core/random.hpp"
#include "ringcraft/core/shown.hpp"

namespace ringcraft::judge {
namespace {

constexpr double kMicro = 1e6;   // of a second
constexpr double kShare = 0.01;  // of a time or a length: the error that passes, and a little for small ones
constexpr char kNames[] = {'A', 'B', 'C'};

RingFigures machine(Random& random) {
  return {.flops = 50e12 * static_cast<double>(random.integer(2, 8)),
          .beta = 25e9 * static_cast<double>(random.integer(2, 12)),
          .alpha = 1e-6 * static_cast<double>(random.integer(2, 8)),
          .ranks = static_cast<int>(random.integer(3, 6)),
          .heads = 32,
          .kv_heads = 32,
          .head_dim = 64 * random.integer(1, 2),
          .bytes = {static_cast<std::size_t>(2 * random.integer(1, 2)), sizeof(float)},
          .causal = false};
}

double computing_time(const RingFigures& ring) { return kMicro * block_seconds(ring); }
double exposed_time(const RingFigures& ring) { return kMicro * exposed_seconds(ring); }
double hidden(const RingFigures& ring) { return hides(ring) ? 1 : 0; }

// ---- known mistakes

struct Confusion {
  std::string reason;
  std::function<void(RingFigures&)> change;  // to the figures of which the wrong answer is right
};
using Confusions = std::vector<Confusion>;

const Confusion kNoV{"Is V missing, which travels with K?", [](RingFigures& r) {
                       r.bytes = {r.bytes.element / 2, r.bytes.accumulator / 2};
                     }};
const Confusion kBits{"Are these bits?", [](RingFigures& r) { r.bytes.element *= 8; }};
const Confusion kQueryHeads{"Are these the heads of the queries, which stay?",
                            [](RingFigures& r) { r.kv_heads = r.heads; }};
const Confusion kBothWays{"Is that what a rank sends and receives together?",
                          [](RingFigures& r) { r.bytes.element *= 2; }};
const Confusion kAllHops{"Are these the hops of the whole pass?",
                         [](RingFigures& r) { r.bytes.element *= static_cast<std::size_t>(r.ranks - 1); }};
const Confusion kOneProduct{
    "Is one of the two products missing, or do a multiplication and an addition count as one?",
    [](RingFigures& r) { r.flops *= 2; }};
const Confusion kKeyHeads{"Are these the heads of the keys, each of which meets several of the queries?",
                          [](RingFigures& r) { r.heads = r.kv_heads; }};
const Confusion kNoMask{"Is that without the mask?", [](RingFigures& r) { r.causal = false; }};
const Confusion kAllBlocks{"Is that the whole pass, or the whole sequence as keys?",
                           [](RingFigures& r) { r.flops /= r.ranks; }};
const Confusion kNoLatency{"Is the latency missing?", [](RingFigures& r) { r.alpha = 0; }};
const Confusion kBothDirections{"Is that the speed of both directions of the link?",
                                [](RingFigures& r) { r.beta *= 2; }};
const Confusion kWholeHops{"Is that the whole time of the hops, and not what the computing leaves of it?",
                           [](RingFigures& r) { r.flops = std::numeric_limits<double>::infinity(); }};
const Confusion kHopForEachRank{"Are there as many hops as ranks?", [](RingFigures& r) { ++r.ranks; }};
const Confusion kNarrowSums{"Do the sums travel in the type of K and V?",
                            [](RingFigures& r) { r.bytes.accumulator = r.bytes.element; }};
const Confusion kOtherSchedule{"Is that the other schedule?", [](RingFigures& r) {
                                 r.schedule = r.schedule == Schedule::kForward ? Schedule::kReversed
                                                                               : Schedule::kForward;
                               }};

// ---- the form

struct Asked {
  std::string row, words;
  double (*answer)(const RingFigures&);
  double share, least;  // errors that pass: of the answer, and at least
  Confusions confusions;
};

void ask(Sheet& sheet, char name, const RingFigures& ring, const Asked& asked) {
  const double want = asked.answer(ring);
  Blank blank{want, asked.share * want + asked.least, {}};
  for (const Confusion& confusion : asked.confusions) {
    RingFigures confused = ring;
    confusion.change(confused);
    const double value = asked.answer(confused);
    if (std::abs(value - want) > 2 * blank.tolerance) blank.mistakes.push_back({value, confusion.reason});
  }
  sheet.line(asked.row, name + (", " + asked.words) + " ___", {blank});
}

const Asked kBytes{
    "bytes", "bytes of a hop:", hop_bytes, 0, 0, {kNoV, kBits, kQueryHeads, kBothWays, kAllHops}};
const Asked kComputing{"computing", "microseconds of computing in a step, forward:", computing_time, kShare,
                       0.1,         {kOneProduct, kKeyHeads, kNoMask, kAllBlocks}};
const Asked kHidden{"hidden", "hidden, 1 or 0:", hidden, 0, 0, {}};
const Asked kTokens{"tokens",
                    "tokens of a rank, at least:",
                    least_tokens,
                    kShare,
                    1,
                    {kNoV, kBothDirections, kQueryHeads, kOneProduct, kNoMask, kNoLatency}};
const Asked kForwardRest{"exposed", "exposed microseconds, forward:",         exposed_time, kShare,
                         0.1,       {kWholeHops, kHopForEachRank, kNoLatency}};

Asked backward_rest(const std::string& schedule) {
  return {"schedules", "exposed microseconds, backward, schedule " + schedule + ":", exposed_time, kShare,
          0.1,         {kOtherSchedule, kNarrowSums, kNoLatency, kWholeHops}};
}

std::string whole(double number) { return std::to_string(std::llround(number)); }

std::string described(const RingFigures& ring) {
  return counted(ring.heads, "head") + " on " + std::to_string(ring.kv_heads) + ", " +
         (ring.causal ? "causal over zig-zag shards" : "full attention") + ", " +
         std::to_string(ring.tokens) + " tokens of a rank";
}

// Three models: one with as many heads of keys as of queries, one that groups them, one that is causal, too.
// Bit i of `hidden`: the shards of model i are long enough. None is near the border.
std::vector<RingFigures> rings(std::uint64_t seed) {
  Random random(seed);
  const RingFigures bare = machine(random);
  const Index hidden = random.integer(1, 6);
  std::vector<RingFigures> all(std::size(kNames), bare);
  all[1].kv_heads = all[2].kv_heads = random.integer(2, 5);
  all[1].heads = all[1].kv_heads * random.integer(3, 7);
  all[2].heads = all[2].kv_heads * random.integer(3, 7);
  all[2].causal = true;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const double factor =
        0.1 * static_cast<double>((hidden >> i) % 2 == 1 ? random.integer(14, 24) : random.integer(4, 7));
    const Index wholes = std::llround(factor * least_tokens(all[i])) / kWholeTokens;
    all[i].tokens = kWholeTokens * std::max<Index>(1, wholes);
  }
  return all;
}

std::vector<PuzzleRow> hiding_rows() {
  return {{"bytes",
           2,
           {},
           "The bytes of a hop.",
           "What does the next rank need of a block, and how many heads of it are there?",
           {}},
          {"computing",
           2,
           {},
           "The time of computing with a block.",
           "How many pairs are there, and how many multiplications and additions does each cost?",
           {}},
          {"hidden", 1, {}, "The hops that hide.", "Which of the two times of a step is longer?", {}},
          {"tokens",
           3,
           {},
           "The smallest shards whose hop hides.",
           "One time grows with the square of the tokens, one with the tokens, and one not at all.",
           {}},
          {"exposed",
           2,
           {},
           "The exposed time of the forward pass.",
           "In how many steps does a rank wait, and for which part of a hop?",
           {}},
          {"schedules",
           3,
           {},
           "The exposed time of the backward pass, with each schedule.",
           "Which messages travel under which step, and which one has no step left?",
           {}}};
}

Form hiding_form(std::uint64_t seed) {
  const std::vector<RingFigures> models = rings(seed);
  const RingFigures& machine = models.front();
  Sheet sheet;
  sheet.begin(RINGCRAFT_PUZZLE, seed);
  sheet.say(std::to_string(machine.ranks) + " ranks. Each computes " + whole(machine.flops / 1e12) +
            "e12 FLOP in a second; one direction of a link moves " + whole(machine.beta / 1e9) + "e9 bytes");
  sheet.say("in a second, and a hop has a latency of " + whole(kMicro * machine.alpha) +
            " microseconds. head_dim is " + std::to_string(machine.head_dim) + ", a number of K and V has " +
            std::to_string(machine.bytes.element) + " bytes,");
  sheet.say("a number of the sums of their gradients " + std::to_string(machine.bytes.accumulator) +
            ". Forward a pair costs 4 head_dim FLOP for each head, backward 10 head_dim.");
  sheet.say("A step is one with a block that has arrived. Bytes are exact; times and lengths pass within 1");
  sheet.say("percent.");
  for (std::size_t i = 0; i < models.size(); ++i) {
    const RingFigures& ring = models[i];
    sheet.gap();
    sheet.say(std::string(1, kNames[i]) + ": " + described(ring) + ".");
    for (const Asked& asked : {kBytes, kComputing, kHidden, kTokens, kForwardRest})
      ask(sheet, kNames[i], ring, asked);
    for (const Schedule schedule : {Schedule::kForward, Schedule::kReversed}) {
      RingFigures backward = ring;
      backward.pass = Pass::kBackward, backward.schedule = schedule;
      ask(sheet, kNames[i], backward, backward_rest(schedule == Schedule::kForward ? "forward" : "reversed"));
    }
  }
  return {sheet.lines(), hiding_rows()};
}

}  // namespace

template <>
Puzzle puzzle_of<RINGCRAFT_PUZZLE>() {
  return prediction(RINGCRAFT_PUZZLE, "When a hop hides",
                    "say which hops hide under the computing, and what stays exposed", hiding_form);
}

}  // namespace ringcraft::judge
