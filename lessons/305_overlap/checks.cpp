// Lesson 305: checks of the clocks of a ring. The answers are the longest chain of computing and messages
// that ends with each step of each rank, looked up from their ends; then real rings measure them.
#include <algorithm>
#include <cmath>

#include "exercise.hpp"
#include "judge/checks/lesson.hpp"
#include "ringcraft/core/random.hpp"
#include "ringcraft/ring/timed_ring.hpp"
#include "verify/ladder/subject.hpp"
#include "verify/oracle/cases.hpp"

namespace ringcraft::judge {
namespace {

using Table = std::vector<std::vector<double>>;  // [steps][ranks]
using What = RingTransfer::What;

std::size_t at(int i) { return static_cast<std::size_t>(i); }

// ---- the answers

// The longest chain that ends at one place: it comes from the own step before, or through a message whose
// later end has ended that step.
class Chains {
 public:
  explicit Chains(const TimedRing& costs) : costs_(costs) {
    for (int step = 0; step < steps(); ++step) {
      Table::value_type& row = ended_.emplace_back();
      for (int rank = 0; rank < ranks(); ++rank)
        row.push_back(std::max({ended(step - 1, rank) + costs.computing[at(step)][at(rank)],
                                through(rank, step, RingTransfer::kBlock, step - 1),
                                through(rank, step - 1, RingTransfer::kSum, step - 1)}));
    }
  }

  RingClocks clocks() const {
    RingClocks result{ended_, {}, {}};
    const int last = steps() - 1;
    for (int rank = 0; rank < ranks(); ++rank) {
      double computed = 0;
      for (const auto& step : costs_.computing) computed += step[at(rank)];
      const double end = std::max(ended(last, rank), through(rank, last, RingTransfer::kSum, last));
      result.ends.push_back(end);
      result.exposed.push_back(end - computed);
    }
    return result;
  }

 private:
  int steps() const { return static_cast<int>(costs_.computing.size()); }
  int ranks() const { return static_cast<int>(costs_.computing.front().size()); }
  double ended(int step, int rank) const { return step < 0 ? 0 : ended_[at(step)][at(rank)]; }
  // The latest end of the rank's messages of this step, which both ranks post after step `after`.
  double through(int rank, int step, What what, int after) const {
    double latest = 0;
    for (const TimedTransfer& t : costs_.transfers)
      if (t.step == step && t.what == what && (t.from == rank || t.to == rank))
        latest = std::max(latest, std::max(ended(after, t.from), ended(after, t.to)) + t.seconds);
    return latest;
  }

  const TimedRing& costs_;
  Table ended_;
};

// ---- the comparisons

std::string text(const std::vector<double>& list) {
  std::string result;
  for (const double number : list) result += (result.empty() ? "" : ", ") + text_of(number);
  return "[" + result + "]";
}

bool near(double got, double want) {  // NaN is not
  return std::fabs(got - want) <= 1e-12 * std::max(1.0, std::fabs(want));
}

void require_list(const std::string& where, const char* code, const std::vector<double>& got,
                  const std::vector<double>& want) {
  if (got.size() != want.size())
    throw Wrong(sign::kValues, "entries", "{} has {} entries, and there are {} ranks", Name{where},
                got.size(), want.size());
  for (std::size_t rank = 0; rank < want.size(); ++rank)
    if (!near(got[rank], want[rank]))
      throw Wrong(sign_of(got[rank]), code, "{}: rank {} has {}, and must have {}; all ranks: {}",
                  Name{where}, rank, digits_of(got[rank]), digits_of(want[rank]), Name{text(want)});
}

// Compares the clocks; and the waits, if `waits`.
void require_clocks(Trial& trial, const std::string& where, const TimedRing& costs, bool waits = false) {
  const auto [got, changed] = trial.call<RingClocksExercise>(costs);
  const RingClocks want = Chains(costs).clocks();
  const auto compare = [&] {
    if (got.steps.size() != want.steps.size())
      throw Wrong(sign::kValues, "steps", "steps has {} entries, and the ring makes {} steps",
                  got.steps.size(), want.steps.size());
    for (std::size_t step = 0; step < want.steps.size(); ++step)
      require_list("steps[" + std::to_string(step) + "]", "step-ends", got.steps[step], want.steps[step]);
    require_list("ends", "ends", got.ends, want.ends);
    if (waits) require_list("exposed", "exposed", got.exposed, want.exposed);
    if (changed != 0) {
      trial.show(exhibit_of(verify::ClockExhibit{{{costs, got, true}}}));
      throw Wrong(sign::kInput, "argument-changed",
                  "your function changed the costs, which it may only read");
    }
  };
  with_label(where + ": ", compare);
}

// ---- costs

Table equal_computing(int steps, int ranks, double seconds) {
  return Table(at(steps), std::vector<double>(at(ranks), seconds));
}

// Every rank sends to its next one in every step but the last.
TimedRing equal_ring(int ranks, double computing, double transfer) {
  TimedRing costs{equal_computing(ranks, ranks, computing), {}};
  for (int step = 0; step + 1 < ranks; ++step)
    for (int rank = 0; rank < ranks; ++rank)
      costs.transfers.push_back({step, rank, (rank + 1) % ranks, RingTransfer::kBlock, transfer});
  return costs;
}

// The same backwards, in schedule forward: each sum leaves after its step, and after the last one goes home.
TimedRing equal_backward(int ranks, double computing, double block, double sum) {
  TimedRing costs = equal_ring(ranks, computing, block);
  for (int step = 0; step < ranks; ++step)
    for (int rank = 0; rank < ranks; ++rank)
      costs.transfers.push_back({step, rank, (rank + 1) % ranks, RingTransfer::kSum, sum});
  return costs;
}

Problem make(Layout layout, Mask mask, Position seqlen, int ranks) {
  return make_problem({1, 2, 1, seqlen, 4}, std::move(mask), layout, ranks);
}

// The costs of a pass; a message of one block of `rows` rows takes about `seconds` for each of its rows.
TimedRing costs_of(const Problem& problem, Pass pass, Schedule schedule, double seconds) {
  const double row_bytes = 2.0 * static_cast<double>(problem.shape.kv_heads * problem.shape.head_dim) * 2;
  return timed_ring(problem, pass, schedule, {2, 4}, {.per_pair = 1},
                    {.alpha = 0.5, .beta = row_bytes / seconds});
}

std::string name_of_problem(const Problem& p) {
  return "n=" + std::to_string(p.world_size) + " " + std::string(name_of(p.layout)) + " " +
         described(p.mask) + " s=" + std::to_string(p.shape.seqlen);
}

void require_forward(Trial& trial, const Problem& problem, double seconds) {
  require_clocks(trial, name_of_problem(problem),
                 costs_of(problem, Pass::kForward, Schedule::kForward, seconds));
}

double between(Random& random, double low, double high) { return low + (high - low) * random.uniform(); }

// A ring whose every piece has a length of its own; some messages are missing, some take no time, and none
// are in order.
TimedRing random_costs(Random& random) {
  const int ranks = static_cast<int>(random.integer(1, 7)), steps = static_cast<int>(random.integer(1, 7));
  TimedRing costs{equal_computing(steps, ranks, 0), {}};
  for (auto& step : costs.computing)
    for (double& seconds : step) seconds = random.integer(0, 3) == 0 ? 0 : between(random, 0, 3);
  if (ranks == 1) return costs;
  const auto other = [&](int rank) {
    return static_cast<int>((rank + random.integer(1, ranks - 1)) % ranks);
  };
  for (int step = 0; step < steps; ++step)
    for (int rank = 0; rank < ranks; ++rank)
      for (const What what : {RingTransfer::kBlock, RingTransfer::kSum})
        if (random.integer(0, 3) > 0)
          costs.transfers.push_back(
              {step, rank, other(rank), what, random.integer(0, 5) == 0 ? 0 : between(random, 0, 4)});
  for (std::size_t i = costs.transfers.size(); i > 1; --i)
    std::swap(costs.transfers[i - 1],
              costs.transfers[static_cast<std::size_t>(random.integer(0, static_cast<Index>(i) - 1))]);
  return costs;
}

// ---- the checks

const Check kOneRank{
    .claim = "One rank sends nothing: its clock is the sum of its computing, and it never waits.",
    .id = "one-rank",
    .weight = 1,
    .hint = "Without messages a step ends when its computing ends, and the next begins there.",
    .run{[](Trial& trial) {
      require_clocks(trial, "one step", {{{3}}, {}}, true);
      require_clocks(trial, "three steps", {{{2}, {0}, {5}}, {}}, true);
      Random random(trial.seed());
      require_clocks(trial, "four steps",
                     {{{random.uniform()}, {random.uniform()}, {random.uniform()}, {random.uniform()}}, {}},
                     true);
    }},
};

const Check kHidden{
    .claim = "A hop that is shorter than the computing beside it costs nothing.",
    .id = "hidden",
    .weight = 2,
    .hint =
        "A block is posted when the step begins, so it travels while the rank computes: later of two, not "
        "sum.",
    .run{[](Trial& trial) {
      require_clocks(trial, "two ranks, computing 3, hop 2", equal_ring(2, 3, 2));
      require_clocks(trial, "two ranks, computing 3, hop 3", equal_ring(2, 3, 3));
      Random random(trial.seed());
      require_clocks(trial, "two ranks", equal_ring(2, between(random, 5, 6), between(random, 1, 4)));
    }},
};

const Check kExposed{
    .claim =
        "A hop that is longer than the computing beside it ends the step, and the rest of it is exposed.",
    .id = "exposed",
    .weight = 2,
    .hint =
        "Waiting sets the clock to the later of itself and the message; what is waited is the difference.",
    .run{[](Trial& trial) {
      require_clocks(trial, "two ranks, computing 3, hop 5", equal_ring(2, 3, 5), true);
      require_clocks(trial, "two ranks, computing 3, hop 5 in the only step",
                     {{{3, 3}}, {{0, 0, 1, RingTransfer::kBlock, 5}}}, true);
      Random random(trial.seed());
      require_clocks(trial, "two ranks", equal_ring(2, between(random, 1, 4), between(random, 5, 9)), true);
    }},
};

const Check kNoComputing{
    .claim = "Where nothing is computed, every hop is exposed.",
    .id = "no-computing",
    .weight = 1,
    .hint = "Each hop takes its seconds, however short: latency adds up over the steps.",
    .run{[](Trial& trial) {
      for (const int ranks : {2, 3, 5})
        require_clocks(trial, std::to_string(ranks) + " ranks, hop 0.25", equal_ring(ranks, 0, 0.25), true);
    }},
};

const Check kEqualSteps{
    .claim = "Equal steps: N computings, or one and N - 1 hops, whichever takes longer.",
    .id = "equal-steps",
    .weight = 2,
    .needs = {"one-rank"},
    .hint = "The last step has no message; every other one takes the longer of its computing and its hop.",
    .run{[](Trial& trial) {
      Random random(trial.seed());
      for (const int ranks : {2, 3, 4, 8})
        for (const double transfer : {1.0, 2.0, 3.0, between(random, 0.5, 4)})
          require_clocks(trial, std::to_string(ranks) + " ranks, computing 2, hop " + text_of(transfer),
                         equal_ring(ranks, 2, transfer));
    }},
};

const Check kLateSender{
    .claim = "A message begins when its sender has posted it, however long its receiver has waited.",
    .id = "late-sender",
    .weight = 2,
    .hint =
        "max(posted by the sender, posted by the receiver) + seconds, with the clocks of when the step "
        "began.",
    .run{[](Trial& trial) {
      // Rank 0 is slow in step 0; rank 1 receives from it in step 1.
      require_clocks(trial, "0 computes 7 first, then sends to 1 for 1",
                     {{{7, 2}, {1, 1}, {1, 1}}, {{1, 0, 1, RingTransfer::kBlock, 1}}}, true);
      Random random(trial.seed());
      require_clocks(trial, "0 computes first, then sends to 2",
                     {{{between(random, 5, 9), 1, between(random, 1, 2)}, {1, 1, 1}, {1, 1, 1}},
                      {{1, 0, 2, RingTransfer::kBlock, between(random, 1, 3)}}},
                     true);
    }},
};

const Check kLateReceiver{
    .claim = "A message begins when its receiver has posted it, and its sender waits too.",
    .id = "late-receiver",
    .weight = 2,
    .hint = "A send is complete when its message is: the sender's clock is set as well.",
    .run{[](Trial& trial) {
      require_clocks(trial, "1 computes 7 first, then receives from 0 for 1",
                     {{{2, 7}, {1, 1}, {1, 1}}, {{1, 0, 1, RingTransfer::kBlock, 1}}}, true);
      require_clocks(trial, "0 sends to 1 for 5", {{{2, 2}, {1, 1}}, {{0, 0, 1, RingTransfer::kBlock, 5}}},
                     true);
      require_clocks(trial, "1 computes 7 first, then receives from 0 for 0 seconds",
                     {{{2, 7}, {1, 1}, {1, 1}}, {{1, 0, 1, RingTransfer::kBlock, 0}}}, true);
      Random random(trial.seed());
      require_clocks(trial, "2 computes first, then receives from 0",
                     {{{between(random, 1, 2), 1, between(random, 5, 9)}, {1, 1, 1}, {1, 1, 1}},
                      {{1, 0, 2, RingTransfer::kBlock, between(random, 1, 3)}}},
                     true);
    }},
};

const Check kWaves{
    .claim =
        "A slow rank delays its two neighbours in the next step, theirs in the step after it, and nobody "
        "else.",
    .id = "waves",
    .weight = 2,
    .needs = {"late-sender", "late-receiver"},
    .hint =
        "No barrier: a rank waits for its own messages alone, and for what their other ends have waited for.",
    .run{[](Trial& trial) {
      for (const int slow : {0, 2, 6}) {
        TimedRing costs = equal_ring(7, 2, 1);
        costs.computing[0][at(slow)] = 9;
        require_clocks(
            trial, "7 ranks, computing 2, hop 1, rank " + std::to_string(slow) + " takes 9 in step 0", costs);
      }
      Random random(trial.seed());
      TimedRing costs = equal_ring(6, 2, 1);
      costs
          .computing[at(static_cast<int>(random.integer(0, 2)))][at(static_cast<int>(random.integer(0, 5)))] =
          8;
      require_clocks(trial, "6 ranks, computing 2, hop 1, one takes 8 once", costs);
    }},
};

const Check kCausal{
    .claim = "Causal rings: contiguous shards, where early ranks have nothing to compute, and zig-zag.",
    .id = "causal",
    .weight = 2,
    .needs = {"equal-steps"},
    .hint = "A step without computing ends when its messages do; a rank without work still passes blocks on.",
    .run{[](Trial& trial) {
      for (const Layout layout : {Layout::kContiguous, Layout::kZigzag})
        for (const double seconds : {0.25, 4.0, 20.0}) {
          require_forward(trial, make(layout, causal_mask(), 16, 4), seconds);
          require_forward(trial, make(layout, causal_mask(), 23, 5), seconds);
        }
      Random random(trial.seed());
      require_forward(trial, make(Layout::kContiguous, causal_mask(), random.integer(30, 90), 6), 5);
    }},
};

const Check kFewHops{
    .claim = "Windows and packs: fewer steps than ranks, and blocks that stop early.",
    .id = "few-hops",
    .weight = 2,
    .needs = {"equal-steps"},
    .hint =
        "Steps and ranks are two numbers. A message that is not in the list is empty, and nobody waits for "
        "it.",
    .run{[](Trial& trial) {
      Mask packed = causal_mask();
      packed.cu_seqlens = {0, 11, 14, 24};
      for (const double seconds : {0.25, 4.0, 20.0}) {
        require_forward(trial, make(Layout::kContiguous, window_mask(6), 24, 6), seconds);
        require_forward(trial, make(Layout::kContiguous, packed, 24, 6), seconds);
        require_forward(trial, make(Layout::kZigzag, causal_mask(), 3, 5), seconds);
      }
      Random random(trial.seed());
      require_forward(trial, make(Layout::kContiguous, window_mask(random.integer(5, 30)), 70, 7), 5);
    }},
};

const Check kSums{
    .claim = "Backward, schedule forward: sums travel under the next step, and the last hop home is exposed.",
    .id = "sums",
    .weight = 3,
    .needs = {"equal-steps"},
    .hint =
        "A sum of step t is posted when step t ends, and its wait comes after the computing of step t + 1; "
        "for those of the last step it comes at the very end.",
    .run{[](Trial& trial) {
      for (const int ranks : {2, 3, 4, 7})
        require_clocks(trial, std::to_string(ranks) + " ranks, computing 3, block 1, sum 2",
                       equal_backward(ranks, 3, 1, 2));
      require_clocks(trial, "4 ranks, computing 3, block 1, sum 5", equal_backward(4, 3, 1, 5), true);
      require_clocks(trial, "4 ranks, computing 3, block 5, sum 4", equal_backward(4, 3, 5, 4), true);
      require_clocks(trial, "4 ranks, computing 3, block 4, sum 6", equal_backward(4, 3, 4, 6), true);
      for (const double seconds : {0.5, 6.0})
        require_clocks(trial, "causal, contiguous, 17 tokens on 4 ranks",
                       costs_of(make(Layout::kContiguous, causal_mask(), 17, 4), Pass::kBackward,
                                Schedule::kForward, seconds));
    }},
};

const Check kReversed{
    .claim = "Backward, schedule reversed: the last sum is home before the last step ends, no hop is left.",
    .id = "reversed",
    .weight = 2,
    .needs = {"equal-steps"},
    .hint = "Nothing depends on the schedule but the list of messages: it has no sums of the last step.",
    .run{[](Trial& trial) {
      for (const Layout layout : kLayouts)
        for (const double seconds : {0.5, 6.0})
          require_clocks(
              trial, std::string(name_of(layout)) + ", causal, 18 tokens on 4 ranks",
              costs_of(make(layout, causal_mask(), 18, 4), Pass::kBackward, Schedule::kReversed, seconds));
      require_clocks(trial, "window of 7, 24 tokens on 6 ranks",
                     costs_of(make(Layout::kContiguous, window_mask(7), 24, 6), Pass::kBackward,
                              Schedule::kReversed, 3));
    }},
};

const Check kAnyCosts{
    .claim = "Two hundred rings in which every piece has its own length, the list in any order.",
    .id = "any-costs",
    .weight = 3,
    .needs = {"waves"},
    .hint = "Look at the smallest ring that fails, and draw a line of boxes for each rank.",
    .run{[](Trial& trial) {
      Random random(trial.seed());
      for (int i = 0; i < 200; ++i)
        require_clocks(trial, "ring " + std::to_string(i), random_costs(random), true);
    }},
};

const Check kRealRings{
    .claim =
        "The virtual clocks of the library's rings, forward and backward, both schedules, are those "
        "foretold.",
    .id = "real-rings",
    .weight = 2,
    .needs = {"one-rank"},
    .hint = "The rings are right; your clocks must be theirs.",
    .run{[](Trial& trial) {
      Random random(trial.seed());
      for (int i = 0; i < 10; ++i) {
        const Schedule schedule = i % 2 == 0 ? Schedule::kForward : Schedule::kReversed;
        const Mask mask = i < 2 ? full_mask()  // with ranks of unequal work and messages that take no time
                          : i % 4 < 2 ? causal_mask()
                                      : window_mask(random.integer(2, 20));
        const Problem problem = make(kLayouts[random.integer(0, 3)], mask, random.integer(4, 30),
                                     static_cast<int>(random.integer(1, 6)));
        const LinkCost timed{.alpha = between(random, 0, 3), .beta = between(random, 5, 500)};
        const LinkCost link = i < 2 ? LinkCost{} : timed;
        const auto inputs =
            make_inputs(verify::make_case(problem, verify::Data::kNormal, 1), DType::kFloat64);
        verify::Measurement cost;
        run_over_ranks(problem, inputs,
                       {.options = {.schedule = schedule}, .board = {.link = link}, .seconds_per_pair = 1},
                       &cost);
        const auto require = [&](Pass pass, double per_pair, const std::vector<double>& want) {
          const TimedRing costs = timed_ring(problem, pass, schedule, {8, 8}, {.per_pair = per_pair}, link);
          const RingClocks got = trial.call<RingClocksExercise>(costs).result;
          require_list(name_of_problem(problem) + ", ends", "measured", got.ends, want);
        };
        require(Pass::kForward, 1, cost.forward.clock);
        require(Pass::kBackward, 2.5, cost.backward.clock);
      }
    }},
};

// ---- for a diagnosis

verify::Exhibit interview(Trial& trial) {
  verify::ClockExhibit clocks;
  const auto ask = [&](TimedRing costs) {
    if (auto got = trial.ask<RingClocksExercise>(costs))
      clocks.asked.push_back({std::move(costs), std::move(*got)});
  };
  ask(equal_ring(3, 3, 2));
  ask(equal_ring(3, 3, 5));
  ask(equal_backward(4, 3, 1, 2));
  ask(equal_backward(3, 3, 4, 6));
  Random random(305);
  for (int i = 0; i < 40; ++i) ask(random_costs(random));
  return exhibit_of(std::move(clocks));
}

}  // namespace

template <>
std::vector<Check> checks_of<RINGCRAFT_LESSON>() {
  std::vector<Check> checks{kOneRank,    kHidden,       kExposed,  kNoComputing, kEqualSteps,
                            kLateSender, kLateReceiver, kWaves,    kCausal,      kFewHops,
                            kSums,       kReversed,     kAnyCosts, kRealRings};
  for (Check& check : checks) check.interview = interview;
  return checks;
}

}  // namespace ringcraft::judge
