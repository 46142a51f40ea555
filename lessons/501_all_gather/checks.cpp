// Lesson 501: checks of the schedule of an all-gather. No list of steps is the expected one, but for one and
// two ranks, where the promises leave no choice: all others are played on every rank, and what is promised
// must hold. Then the library attends along the steps.
#include <algorithm>
#include <map>
#include <utility>

#include "exercise.hpp"
#include "judge/checks/lesson.hpp"
#include "judge/outcome/comparison.hpp"
#include "ringcraft/core/random.hpp"
#include "verify/oracle/cases.hpp"
#include "verify/oracle/compare.hpp"

namespace ringcraft::judge {
namespace {

using Steps = std::vector<GatherStep>;

std::string text(const GatheredBlock& block) {
  if (!block.some()) return "nothing";
  return "block " + std::to_string(block.distance) + " of slice " + std::to_string(block.slice);
}
std::string text(const GatherStep& step) {
  return "{exchanges " + text(step.exchanged) + ", computes " + text(step.computed) + "}";
}

// A schedule, and in which steps each block comes and is computed.
struct Played {
  using When = std::map<std::pair<int, int>, std::vector<int>>;  // by slice and distance

  int ranks, slices;
  Steps steps;
  When came = {}, computed = {};

  int size() const { return static_cast<int>(steps.size()); }
  static const std::vector<int>& at(const When& when, int slice, int distance) {
    static const std::vector<int> never;
    const auto found = when.find({slice, distance});
    return found == when.end() ? never : found->second;
  }
  // Calls visit for every block at a distance of `first` or more.
  template <class Visit>
  void each_block(int first, Visit visit) const {
    for (int slice = 0; slice < slices; ++slice)
      for (int distance = first; distance < ranks; ++distance) visit(GatheredBlock{slice, distance});
  }
};

Played play(Trial& trial, int ranks, int slices) {
  Played p{ranks, slices, trial.call<GatherSteps>(ranks, slices).result};
  for (int i = 0; i < p.size(); ++i) {
    const auto& [exchanged, computed] = p.steps[static_cast<std::size_t>(i)];
    if (exchanged.some()) p.came[{exchanged.slice, exchanged.distance}].push_back(i);
    if (computed.some()) p.computed[{computed.slice, computed.distance}].push_back(i);
  }
  return p;
}

using Require = void (*)(const Played&);

void require(Trial& trial, int ranks, int slices, std::initializer_list<Require> promises) {
  const std::string label = "n=" + std::to_string(ranks) + " slices=" + std::to_string(slices) + ": ";
  with_label(label, [&] {
    const Played p = play(trial, ranks, slices);
    for (const Require promise : promises) promise(p);
  });
}

// A few small worlds, and for a real check some more that the seed chooses.
void require(Trial& trial, std::initializer_list<Require> promises) {
  for (const auto& [ranks, slices] :
       {std::pair{1, 1}, {1, 3}, {2, 1}, {2, 3}, {3, 2}, {4, 1}, {5, 4}, {8, 8}})
    require(trial, ranks, slices, promises);
  if (trial.inputs_are_known()) return;
  Random random(trial.seed());
  for (int times = 0; times < 6; ++times)
    require(trial, static_cast<int>(random.integer(1, 20)), static_cast<int>(random.integer(1, 12)),
            promises);
}

// ---- the promises

void every_block_is_computed(const Played& p) {
  for (const auto& [block, steps] : p.computed)
    if (block.first >= p.slices || block.second < 0 || block.second >= p.ranks)
      throw Wrong(sign::kValues, "computes-no-block", "step {} computes {}, which there is not", steps[0],
                  Name{text(GatheredBlock{block.first, block.second})});
  p.each_block(0, [&](const GatheredBlock& block) {
    const auto& steps = Played::at(p.computed, block.slice, block.distance);
    if (steps.size() != 1)
      throw Wrong(sign::kValues, "computed-often", "{} is computed {} times, not once", Name{text(block)},
                  steps.size());
  });
}

void slices_are_computed_in_order(const Played& p) {
  GatheredBlock last;
  for (int i = 0; i < p.size(); ++i) {
    const GatheredBlock& computed = p.steps[static_cast<std::size_t>(i)].computed;
    if (!computed.some()) continue;
    if (std::pair(computed.slice, computed.distance) < std::pair(last.slice, last.distance))
      throw Wrong(sign::kValues, "out-of-order", "step {} computes {} after {}", i, Name{text(computed)},
                  Name{text(last)});
    last = computed;
  }
}

void every_block_comes(const Played& p) {
  p.each_block(1, [&](const GatheredBlock& block) {
    const auto& steps = Played::at(p.came, block.slice, block.distance);
    if (steps.size() != 1)
      throw Wrong(sign::kValues, "came-often", "{} comes {} times, not once", Name{text(block)},
                  steps.size());
  });
}

void no_other_block_moves(const Played& p) {
  for (const auto& [block, steps] : p.came) {
    const auto [slice, distance] = block;
    if (distance == 0 || (distance > 0 && distance % p.ranks == 0))
      throw Wrong(sign::kValues, "to-itself", "step {} exchanges {}: every rank would send to itself",
                  steps[0], Name{text(GatheredBlock{slice, distance})});
    if (slice >= p.slices || distance < 0 || distance >= p.ranks)
      throw Wrong(sign::kValues, "exchanges-no-block", "step {} exchanges {}, which there is not", steps[0],
                  Name{text(GatheredBlock{slice, distance})});
  }
}

void blocks_are_here_in_time(const Played& p) {
  p.each_block(1, [&](const GatheredBlock& block) {
    const auto& came = Played::at(p.came, block.slice, block.distance);
    const auto& computed = Played::at(p.computed, block.slice, block.distance);
    if (computed.empty()) return;
    if (came.empty())
      throw Wrong(sign::kValues, "never-here", "step {} computes {}, which never comes", computed[0],
                  Name{text(block)});
    if (came[0] >= computed[0])
      throw Wrong(sign::kValues, "not-here-yet", "step {} computes {}, which comes in step {}", computed[0],
                  Name{text(block)}, came[0]);
  });
}

void slices_come_whole(const Played& p) {
  p.each_block(1, [&](const GatheredBlock& block) {
    const auto& came = Played::at(p.came, block.slice, block.distance);
    const auto& begun = Played::at(p.computed, block.slice, 0);
    if (!came.empty() && !begun.empty() && came[0] >= begun[0])
      throw Wrong(sign::kValues, "in-pieces", "{} comes in step {}, and step {} computes with that slice",
                  Name{text(block)}, came[0], begun[0]);
  });
}

void first_slice_comes_first(const Played& p) {
  for (int i = 0; i < p.ranks - 1; ++i) {
    const GatherStep step = i < p.size() ? p.steps[static_cast<std::size_t>(i)] : GatherStep{};
    if (!step.exchanged.some() || step.exchanged.slice != 0 || step.computed.some())
      throw Wrong(sign::kValues, "first-steps",
                  "step {} is {}: the first {} bring slice 0 and compute nothing", i, Name{text(step)},
                  p.ranks - 1);
  }
}

void later_slices_are_hidden(const Played& p) {
  for (int i = 0; i < p.size(); ++i) {
    const auto& [exchanged, computed] = p.steps[static_cast<std::size_t>(i)];
    if (exchanged.slice > 0 && !computed.some())
      throw Wrong(sign::kCounts, "exposed", "step {} exchanges {} and computes nothing: all ranks wait", i,
                  Name{text(exchanged)});
  }
}

void number_of_steps(const Played& p) {
  const int want = p.ranks - 1 + p.slices * p.ranks;
  if (p.size() != want)
    throw Wrong(sign::kCounts, "number", "{} steps, not N - 1 + slices * N = {}", p.size(), want);
}

// Blocks of a slice that a rank holds in each step, its own included.
std::vector<int> held(const Played& p) {
  std::vector<int> change(p.steps.size() + 1, 0);
  const auto hold = [&](int from, int to) {
    ++change[static_cast<std::size_t>(from)];
    --change[static_cast<std::size_t>(to) + 1];
  };
  std::vector<int> sent(static_cast<std::size_t>(p.slices), p.size()), last_sent(sent.size(), -1);
  p.each_block(1, [&](const GatheredBlock& block) {
    const auto& came = Played::at(p.came, block.slice, block.distance);
    if (came.empty()) return;
    const auto slice = static_cast<std::size_t>(block.slice);
    sent[slice] = std::min(sent[slice], came.front());
    last_sent[slice] = std::max(last_sent[slice], came.back());
    const auto& computed = Played::at(p.computed, block.slice, block.distance);
    hold(came.front(), std::max(came.back(), computed.empty() ? p.size() - 1 : computed.back()));
  });
  for (int slice = 0; slice < p.slices; ++slice) {
    const auto& computed = Played::at(p.computed, slice, 0);
    const int from =
        std::min(sent[static_cast<std::size_t>(slice)], computed.empty() ? p.size() : computed[0]);
    const int to =
        std::max(last_sent[static_cast<std::size_t>(slice)], computed.empty() ? -1 : computed.back());
    if (from <= to) hold(from, to);
  }
  std::vector<int> blocks;
  for (std::size_t i = 0; i + 1 < change.size(); ++i)
    blocks.push_back(change[i] + (i > 0 ? blocks.back() : 0));
  return blocks;
}

void few_blocks_are_held(const Played& p) {
  const std::vector<int> blocks = held(p);
  const auto most = std::ranges::max_element(blocks);
  const int limit = p.slices == 1 ? p.ranks : p.ranks + 1;
  if (most != blocks.end() && *most > limit)
    throw Wrong(sign::kCounts, "blocks",
                "a rank holds {} blocks in step {}, its own included, not at most {}", *most,
                most - blocks.begin(), limit);
}

constexpr std::initializer_list<Require> kPromises = {every_block_is_computed, slices_are_computed_in_order,
                                                      every_block_comes,       no_other_block_moves,
                                                      blocks_are_here_in_time, slices_come_whole,
                                                      first_slice_comes_first, later_slices_are_hidden,
                                                      number_of_steps,         few_blocks_are_held};

// ---- the checks

void require_list(Trial& trial, int ranks, int slices, const Steps& want) {
  const Steps got = trial.call<GatherSteps>(ranks, slices).result;
  for (std::size_t i = 0; i < std::max(got.size(), want.size()); ++i)
    if (i >= got.size() || i >= want.size() || !(got[i] == want[i]))
      throw Wrong(sign::kValues, "step", "n={} slices={}: step {} is {}, and must be {}", ranks, slices, i,
                  Name{i < got.size() ? text(got[i]) : "missing"},
                  Name{i < want.size() ? text(want[i]) : "none"});
}

const Check kOneRank{
    .claim = "One rank: nothing to exchange, and a step for each slice.",
    .id = "one-rank",
    .weight = 1,
    .hint = "Which distances are there on one rank?",
    .run{[](Trial& trial) {
      require_list(trial, 1, 1, {{{}, {0, 0}}});
      require_list(trial, 1, 3, {{{}, {0, 0}}, {{}, {1, 0}}, {{}, {2, 0}}});
    }},
};

const Check kTwoRanks{
    .claim = "Two ranks leave no choice: the lists for one, two and three slices, worked out by hand.",
    .id = "two-ranks",
    .weight = 2,
    .hint = "Write the three lists down: which block does a rank get rid of before the next one comes?",
    .run{[](Trial& trial) {
      const GatherStep first{{0, 1}, {}};
      require_list(trial, 2, 1, {first, {{}, {0, 0}}, {{}, {0, 1}}});
      require_list(trial, 2, 2, {first, {{}, {0, 0}}, {{1, 1}, {0, 1}}, {{}, {1, 0}}, {{}, {1, 1}}});
      require_list(trial, 2, 3,
                   {first,
                    {{}, {0, 0}},
                    {{1, 1}, {0, 1}},
                    {{}, {1, 0}},
                    {{2, 1}, {1, 1}},
                    {{}, {2, 0}},
                    {{}, {2, 1}}});
    }},
};

const Check kComputed{
    .claim = "Every block of every slice is computed once, the own one (distance 0) included.",
    .id = "computed-once",
    .weight = 3,
    .hint =
        "How many blocks does a slice have on N ranks, and what are the smallest and the largest distance?",
    .run{[](Trial& trial) { require(trial, {every_block_is_computed}); }},
};

const Check kOrder{
    .claim = "Slice after slice is computed, and in a slice from distance 0 to N - 1.",
    .id = "order",
    .weight = 2,
    .needs = {"computed-once"},
    .hint = "When all blocks of a slice are computed its rows are done: what must not come in between?",
    .run{[](Trial& trial) { require(trial, {slices_are_computed_in_order}); }},
};

const Check kComes{
    .claim = "Every block of another rank comes once.",
    .id = "exchanged-once",
    .weight = 3,
    .hint = "Which exchange brings the block of the farthest rank, in the first slice and in the last?",
    .run{[](Trial& trial) { require(trial, {every_block_comes}); }},
};

const Check kNoOther{
    .claim = "Nothing else moves: no block to oneself, no slice past the last.",
    .id = "nothing-else",
    .weight = 2,
    .needs = {"computed-once", "exchanged-once"},
    .hint = "Who gets a block that travels a distance of 0, or of N? And what comes after the last slice?",
    .run{[](Trial& trial) { require(trial, {no_other_block_moves}); }},
};

const Check kInTime{
    .claim = "A block comes in an earlier step than the one that computes it.",
    .id = "in-time",
    .weight = 3,
    .needs = {"computed-once", "exchanged-once"},
    .hint = "An exchange is complete at the end of its step: what may the same step compute?",
    .run{[](Trial& trial) { require(trial, {blocks_are_here_in_time}); }},
};

const Check kWhole{
    .claim = "A slice is here whole before its first block is computed: one call of a kernel could do it.",
    .id = "whole-slices",
    .weight = 2,
    .needs = {"computed-once"},
    .hint =
        "A ring computes with what is there; an all-gather waits for all of it. Under which computing "
        "does a slice come?",
    .run{[](Trial& trial) { require(trial, {slices_come_whole}); }},
};

const Check kFirst{
    .claim = "The first N - 1 steps bring the first slice, and compute nothing.",
    .id = "first-slice",
    .weight = 2,
    .hint = "What can hide the exchanges of the very first slice?",
    .run{[](Trial& trial) { require(trial, {first_slice_comes_first}); }},
};

const Check kHidden{
    .claim = "No other exchange is exposed: each shares its step with a block that is computed.",
    .id = "hidden",
    .weight = 3,
    .needs = {"exchanged-once"},
    .hint = "While a block of this slice is computed the link is idle: which block may come meanwhile?",
    .run{[](Trial& trial) { require(trial, {later_slices_are_hidden}); }},
};

const Check kNumber{
    .claim = "N - 1 + slices * N steps.",
    .id = "number",
    .weight = 1,
    .hint = "Each step but the first N - 1 computes a block: how many blocks are there?",
    .run{[](Trial& trial) { require(trial, {number_of_steps}); }},
};

const Check kMemory{
    .claim = "A rank holds at most N + 1 blocks, its own included, and N if there is one slice.",
    .id = "memory",
    .weight = 3,
    .needs = {"computed-once", "exchanged-once"},
    .hint =
        "Count the blocks step by step for N = 3 and two slices. A block comes into the place of one that "
        "is no longer needed: after which step does that place get free?",
    .run{[](Trial& trial) { require(trial, {few_blocks_are_held}); }},
};

const Check kByHand{
    .claim = "Three ranks, two slices: a rank holds 2, 3, 3, 4, 4, 3, 2, 1 blocks.",
    .id = "held",
    .weight = 2,
    .needs = {"computed-once", "exchanged-once"},
    .hint =
        "When a rank sends for the first time it holds its own block of that slice: is the next slice "
        "begun before the own block of this one is done?",
    .run{[](Trial& trial) {
      const std::pair<std::pair<int, int>, std::vector<int>> rows[] = {
          {{3, 1}, {2, 3, 3, 2, 1}},
          {{3, 2}, {2, 3, 3, 4, 4, 3, 2, 1}},
          {{4, 2}, {2, 3, 4, 4, 5, 5, 5, 4, 3, 2, 1}}};
      for (const auto& [world, want] : rows) {
        const std::vector<int> got = held(play(trial, world.first, world.second));
        for (std::size_t i = 0; i < std::max(got.size(), want.size()); ++i)
          if (i >= got.size() || i >= want.size() || got[i] != want[i])
            throw Wrong(sign::kCounts, "by-hand", "n={} slices={}: in step {} a rank holds {} blocks, not {}",
                        world.first, world.second, i, i < got.size() ? got[i] : 0,
                        i < want.size() ? want[i] : 0);
      }
    }},
};

const Check kAny{
    .claim = "Forty random worlds of up to 64 ranks and 32 slices keep all promises.",
    .id = "any-world",
    .weight = 2,
    .needs = {"in-time", "hidden", "memory"},
    .hint = "Does anything in your function depend on more than its two arguments?",
    .run{[](Trial& trial) {
      Random random(trial.seed());
      for (int times = 0; times < 40; ++times)
        require(trial, static_cast<int>(random.integer(1, 64)), static_cast<int>(random.integer(1, 32)),
                kPromises);
    }},
};

const Check kMany{
    .claim = "300 ranks, and 3000 slices.",
    .id = "many",
    .weight = 1,
    .needs = {"any-world"},
    .hint = "How many steps does your function have room for, and does it look at them again and again?",
    .run{[](Trial& trial) {
      require(trial, 300, 5, kPromises);
      require(trial, 3, 3000, kPromises);
    }},
};

// ---- real passes along the steps

Problem make(Layout layout, Mask mask, Position seqlen, int ranks, Index heads, Index kv_heads) {
  return make_problem({1, heads, kv_heads, seqlen, 4}, std::move(mask), layout, ranks);
}

// Both passes on one worker per rank; values against the oracle, and the bytes of all links together.
void attend(Trial& trial, const Problem& p, int heads, bool backward) {
  const verify::Case c = verify::make_case(p, verify::Data::kNormal, trial.seed());
  verify::Inputs inputs = verify::make_inputs(c, DType::kFloat64);
  if (!backward) inputs.dout = Buffer();
  const Sharding sharding = p.sharding();
  const auto rows = [&](const Buffer& whole, int rank) {
    return whole.empty() ? Buffer() : scatter(whole, sharding, rank);
  };
  const std::string label = c.name + ", " + std::to_string(heads) + " KV heads at a time: ";
  with_label(label, [&] {
    std::vector<Bytes> requests;
    for (int rank = 0; rank < p.world_size; ++rank)
      requests.push_back(GatherAttention::request(p, heads, rows(inputs.q, rank),
                                                  KvBlock{rows(inputs.k, rank), rows(inputs.v, rank)},
                                                  rows(inputs.dout, rank)));
    const CallRecord record = trial.call_ranks<GatherAttention>(requests, {.seed = trial.seed()});
    const verify::Oracle want = verify::oracle(p, inputs);
    verify::Answer got = verify::clone(want.value);
    for (int rank = 0; rank < p.world_size; ++rank) {
      const GatheredAttention own =
          Trial::read([&] {
            return GatherAttention::answer(record.replies[static_cast<std::size_t>(rank)], p, heads, Buffer(),
                                           KvBlock(), Buffer());
          }).result;
      const auto put = [&](Buffer& whole, const Buffer& part, const Extents& extents) {
        if (part.extents() != extents)
          throw Wrong(sign::kValues, "extents", "rank {} returns {}, and must return {}", rank,
                      Name{described(part.extents())}, Name{described(extents)});
        gather(whole, part, sharding, rank);
      };
      put(got.out, own.output.out, p.q_extents(rank));
      put(got.lse, own.output.lse, p.row_extents(rank));
      if (!backward) continue;
      put(got.dq, own.gradients.dq, p.q_extents(rank));
      put(got.dk, own.gradients.dkv.k, p.kv_extents(rank));
      put(got.dv, own.gradients.dkv.v, p.kv_extents(rank));
    }
    const auto compared =
        verify::compare_exact(got, want, backward ? verify::Expect::kAll : verify::Expect::kForward);
    if (!compared.good)
      throw wrong_values(verify::error_maps(compared, sharding), "{}", verify::described(compared, sharding))
          .knowing(facts_of(compared));
    for (int from = 0; from < p.world_size; ++from)
      for (int to = 0; to < p.world_size; ++to) {
        const auto bytes_of = [&](int rank) { return p.kv_extents(rank).elements() * 2 * 8; };
        Index bytes = 0;  // blocks to who sees them, and their gradients to the owner
        if (from != to && key_ranges(p, to, from).pairs() > 0) bytes += (backward ? 2 : 1) * bytes_of(from);
        if (from != to && backward && key_ranges(p, from, to).pairs() > 0) bytes += bytes_of(to);
        if (record.moved(from, to) != bytes)
          throw Wrong(sign::kCounts, "bytes", "rank {} sends {} bytes to rank {}, not {}", from,
                      record.moved(from, to), to, bytes);
      }
  });
}

const Check kForward{
    .claim = "The library attends along your steps: the oracle's values, and N - 1 blocks sent by each rank.",
    .id = "drives-forward",
    .weight = 2,
    .needs = {"one-rank", "computed-once", "order", "exchanged-once", "nothing-else"},
    .hint = "All ranks walk the same list: a block that one expects, another has to send in the same step.",
    .run{[](Trial& trial) {
      for (const int heads : {0, 1, 2})
        attend(trial, make(Layout::kContiguous, full_mask(), 13, 4, 4, 4), heads, false);
      attend(trial, make(Layout::kZigzag, causal_mask(), 17, 3, 6, 3), 1, false);
      attend(trial, make(Layout::kContiguous, window_mask(3), 12, 1, 2, 2), 1, false);
    }},
};

const Check kBackward{
    .claim = "The way back, which gathers once more and sends each block's gradients to its owner.",
    .id = "drives-backward",
    .weight = 2,
    .needs = {"one-rank", "computed-once", "order", "exchanged-once", "nothing-else"},
    .hint = "The gradients of a block leave as soon as it is computed: at the same step on all ranks.",
    .run{[](Trial& trial) {
      attend(trial, make(Layout::kContiguous, full_mask(), 11, 3, 4, 2), 1, true);
      Mask documents = causal_mask();
      documents.cu_seqlens = {0, 5, 6, 19, 26};
      for (const Layout layout : kLayouts) attend(trial, make(layout, documents, 26, 4, 4, 2), 1, true);
      attend(trial, make(Layout::kContiguous, window_mask(4), 19, 5, 2, 2), 0, true);
    }},
};

// ---- for a diagnosis

verify::Exhibit interview(Trial& trial) {
  verify::GatherExhibit schedules;
  for (const auto& [ranks, slices] : {std::pair{1, 1},
                                      {1, 3},
                                      {2, 1},
                                      {2, 3},
                                      {3, 1},
                                      {3, 2},
                                      {3, 4},
                                      {4, 1},
                                      {4, 3},
                                      {5, 2},
                                      {5, 5},
                                      {6, 4},
                                      {3, 3000},
                                      {300, 20}})
    if (trial.asks()) {
      auto answer = trial.ask<GatherSteps>(ranks, slices);
      schedules.asked.push_back({ranks, slices, answer ? std::optional(std::move(*answer)) : std::nullopt});
    }
  return exhibit_of(std::move(schedules));
}

}  // namespace

template <>
std::vector<Check> checks_of<RINGCRAFT_LESSON>() {
  std::vector<Check> checks{kOneRank, kTwoRanks, kComputed, kOrder,   kComes,   kNoOther,
                            kInTime,  kWhole,    kFirst,    kHidden,  kNumber,  kMemory,
                            kByHand,  kAny,      kMany,     kForward, kBackward};
  for (Check& check : checks) check.interview = interview;
  return checks;
}

}  // namespace ringcraft::judge
