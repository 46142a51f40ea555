// Lesson 205: checks of a merge on a GPU, for (O, m, l) and for (out, lse). The expected result is the
// formula in double; a side that has seen no key leaves every bit of the other. Every launch is checked: a
// lane that writes m while another may not have read it is a data race. The checks also count bytes moved.
#include <cmath>

#include "judge/checks/kernel_checks.hpp"
#include "judge/checks/kernel_interview.hpp"
#include "judge/checks/lesson.hpp"
#include "judge/checks/merge_trial.hpp"

namespace ringcraft::judge {
namespace {

MergeKernelCall partials(Trial& trial) {
  return {MergeForm::kPartials,
          [&trial](const MergeStep& step) { return trial.call<MergeKernel>(step).result; }};
}

MergeKernelCall normalized(Trial& trial) {
  return {MergeForm::kNormalized,
          [&trial](const MergeStep& step) { return trial.call<NormalizedMergeKernel>(step).result; }};
}

struct Size {
  Index rows, head_dim;
};
std::string name_of(const Size& size) {
  return std::to_string(size.rows) + (size.rows == 1 ? " row" : " rows") + ", head_dim " +
         std::to_string(size.head_dim);
}

// The level of m, or lse, on the two sides.
struct Levels {
  double acc, block;
};

// Two partial results of these rows become one.
void require_merge(const MergeKernelCall& kernel, Random& random, const Size& size, HowMerged how = {},
                   Levels levels = {0, 0}) {
  PartialRows acc = random_rows(kernel.form, size.rows, size.head_dim, levels.acc, random);
  const PartialRows before = acc,
                    block = random_rows(kernel.form, size.rows, size.head_dim, levels.block, random);
  std::string label = name_of(size);
  if (how.skipped != 0)
    label += ", O begins " + std::to_string(4 * how.skipped) + " bytes past a multiple of 16";
  if (how.rows_left != 0) label += ", and " + std::to_string(how.rows_left) + " rows of others after them";
  if (levels.acc != levels.block || levels.acc != 0)
    label += ", maxima near " + std::to_string(std::lround(levels.acc)) + " and " +
             std::to_string(std::lround(levels.block));
  merge_rows(kernel, label, acc, block, how);
  exhibiting([&] { return exhibit_of_merge(before, block, acc); },
             [&] {
               require_merged(kernel.form, label, acc, {before, block});
             });
}

void require_sizes(const MergeKernelCall& kernel, Random& random, const std::vector<Size>& sizes,
                   int skipped = 0) {
  std::uint64_t order = 0;
  for (const Size& size : sizes) require_merge(kernel, random, size, {.order = order++, .skipped = skipped});
}

void require_levels(const MergeKernelCall& kernel, Random& random) {
  for (const Levels levels : {Levels{20000, 20003},
                              {-20000, -20003},
                              {-20000, 20000},
                              {20000, -20000},
                              {0, 90},
                              {90, 0},
                              {-120, -118},
                              {100, 102},
                              {-12000, -12001}})
    require_merge(kernel, random, {3, 20}, {}, levels);
}

// ---- rows that one side, or both, have no key for

enum class Unseen { kBlock, kState, kBoth };
constexpr const char* kSeenWords[] = {"sees no key of the block", "has seen no key before",
                                      "has seen no key on either side"};

// Every row, and then every third one: the others merge as usual.
void require_unseen(const MergeKernelCall& kernel, Random& random, Unseen unseen) {
  for (const Index every : {1, 3})
    for (const Size& size : {Size{5, 20}, Size{18, 64}}) {
      PartialRows acc = random_rows(kernel.form, size.rows, size.head_dim, 0, random);
      PartialRows block = random_rows(kernel.form, size.rows, size.head_dim, 0, random);
      for (Index row = 0; row < size.rows; row += every) {
        if (unseen != Unseen::kBlock) forget(acc, row);
        if (unseen != Unseen::kState) forget(block, row);
      }
      const PartialRows before = acc;
      const std::string label = name_of(size) + (every == 1 ? "" : ", every third row");
      merge_rows(kernel, label, acc, block);
      exhibiting([&] { return exhibit_of_merge(before, block, acc); },
                 [&] {
                   for (Index row = 0; row < size.rows; row += every)
                     require_same_row(label, kSeenWords[static_cast<int>(unseen)], acc,
                                      unseen == Unseen::kState ? block : before, row);
                   require_merged(kernel.form, label, acc, {before, block});
                 });
    }
}

// ---- many blocks

// Merges parts[i] for i in `order`, one after another, into the first of them.
PartialRows merged(const MergeKernelCall& kernel, const std::string& label,
                   const std::vector<PartialRows>& parts, const std::vector<std::size_t>& order) {
  PartialRows acc = parts[order.front()];
  for (std::size_t i = 1; i < order.size(); ++i) merge_rows(kernel, label, acc, parts[order[i]]);
  return acc;
}

void require_orders(const MergeKernelCall& kernel, Random& random) {
  std::vector<PartialRows> parts;
  for (const double level : {0.0, 12.0, -3.0, 7.0, 12.0, 1.0})
    parts.push_back(random_rows(kernel.form, 4, 12, level, random));
  forget(parts[1], 2);
  forget(parts[3], 2);
  const auto in_order = [&](const std::string& label, const std::vector<std::size_t>& order) {
    require_merged(kernel.form, label, merged(kernel, label, parts, order), parts);
  };
  in_order("six blocks, from the first to the last", {0, 1, 2, 3, 4, 5});
  in_order("six blocks, from the last to the first", {5, 4, 3, 2, 1, 0});
  in_order("six blocks, the largest maxima first", {4, 1, 3, 5, 0, 2});
  const std::string label = "three blocks and three blocks, then both";
  PartialRows left = merged(kernel, label, parts, {0, 1, 2}), right = merged(kernel, label, parts, {3, 4, 5});
  merge_rows(kernel, label, left, right);
  require_merged(kernel.form, label, left, parts);
}

// The keys of a head in four parts, as four ring steps bring them.
void require_ring(const MergeKernelCall& kernel, const HeadCase& head, Index first_part,
                  verify::RoundingRule& rule) {
  KernelHead state(head, 0);
  state.rename(state.name() + ", the keys in four parts");
  PartialRows acc = rows_after(kernel.form, state, 0, 0);
  for (Index step = 0; step < 4; ++step) {
    const Index part = (first_part + step) % 4;
    merge_rows(kernel, state.name(), acc,
               rows_after(kernel.form, state, part * state.keys() / 4, (part + 1) * state.keys() / 4));
  }
  std::ranges::copy(acc.out, state.out().begin());
  std::ranges::copy(acc.max, state.max().begin());
  for (std::size_t row = 0; row < acc.max.size(); ++row)
    state.sum()[row] = kernel.form == MergeForm::kPartials ? acc.sum[row]
                       : std::isfinite(acc.max[row])       ? 1
                                                           : 0;
  state.require_attention(rule);
}

// ---- what moves

struct Moved {
  double bytes = 0, sectors = 0, fewest = 0, of_o = 0;  // of_o: bytes of O that must move
};
Moved moved_by(const MergeKernelCall& kernel, Random& random) {
  constexpr Index kRows = 32, kWidth = 128;
  PartialRows acc = random_rows(kernel.form, kRows, kWidth, 0, random);
  const PartialRows block = random_rows(kernel.form, kRows, kWidth, 0, random);
  Moved sum{.of_o = 3.0 * kRows * kWidth * 4};
  for (const MovedByLine& line : merge_rows(kernel, "32 rows", acc, block, {.count_traffic = true}).moved) {
    if (line.shared) continue;
    sum.bytes += static_cast<double>(line.bytes);
    sum.sectors += static_cast<double>(line.transfers);
    sum.fewest += static_cast<double>(line.least_transfers);
  }
  return sum;
}

std::string whole(double number) { return std::to_string(std::lround(number)); }

// ---- the checks

const Check kOneRow{
    .claim = "Two partial results (O, m, l) of one row become one.",
    .id = "one-row",
    .weight = 3,
    .hint = "16 lanes share the row: which columns of O has each of them, and which lane writes m and l?",
    .run{[](Trial& trial) {
      Random random(trial.seed());
      for (const Levels levels : {Levels{0, 0}, {0, 3}, {3, 0}})
        require_merge(partials(trial), random, {1, 64}, {}, levels);
    }},
};

const Check kManyRows{
    .claim = "Any number of rows, also where the last warp has only one.",
    .id = "many-rows",
    .weight = 3,
    .needs = {"one-row"},
    .hint = "A warp has two rows. What do the lanes do if the second row does not exist?",
    .run{[](Trial& trial) {
      Random random(trial.seed());
      require_sizes(partials(trial), random, {{2, 64}, {15, 64}, {16, 64}, {17, 64}, {33, 64}, {70, 64}});
    }},
};

const Check kAnySize{
    .claim =
        "Any head_dim, rows that begin where four numbers cannot be read at once, and rows of others after "
        "them.",
    .id = "any-size",
    .weight = 2,
    .needs = {"many-rows"},
    .hint = "A lane takes every 16th group of four columns: which is its first, and which is its last?",
    .run{[](Trial& trial) {
      Random random(trial.seed());
      require_sizes(partials(trial), random,
                    {{3, 1}, {17, 3}, {5, 4}, {2, 65}, {3, 66}, {5, 100}, {3, 128}, {1, 200}});
      require_sizes(partials(trial), random, {{3, 64}, {2, 128}, {5, 7}}, 1);
      require_sizes(partials(trial), random, {{3, 64}}, 2);
      require_merge(partials(trial), random, {13, 20}, {.rows_left = 4});
    }},
};

const Check kExtremeMaxima{
    .claim = "Maxima of +-20000, and gaps of 90 and of 40000, neither overflow nor vanish.",
    .id = "extreme-maxima",
    .weight = 2,
    .needs = {"one-row"},
    .hint = "No exponent is positive when the larger of both maxima is subtracted from each.",
    .run{[](Trial& trial) {
      Random random(trial.seed());
      require_levels(partials(trial), random);
    }},
};

const Check kEmptyBlock{
    .claim = "A row that sees no key of the block keeps O, m and l to the bit.",
    .id = "empty-block",
    .weight = 2,
    .needs = {"one-row"},
    .hint = "What is the weight of a side whose m is -inf, and what is that of the other?",
    .run{[](Trial& trial) {
      Random random(trial.seed());
      require_unseen(partials(trial), random, Unseen::kBlock);
    }},
};

const Check kEmptyState{
    .claim = "A row that has seen no key before takes O, m and l of the block to the bit.",
    .id = "empty-state",
    .weight = 2,
    .needs = {"one-row"},
    .hint = "Merging with (0, -inf, 0) on the left is what the first step of a ring does.",
    .run{[](Trial& trial) {
      Random random(trial.seed());
      require_unseen(partials(trial), random, Unseen::kState);
    }},
};

const Check kBothEmpty{
    .claim = "A row without a key on either side stays (0, -inf, 0), without a NaN.",
    .id = "both-empty",
    .weight = 1,
    .needs = {"one-row"},
    .hint = "What is -inf - (-inf)? Which weight has a side without a key, for every state of the other?",
    .run{[](Trial& trial) {
      Random random(trial.seed());
      require_unseen(partials(trial), random, Unseen::kBoth);
    }},
};

const Check kAnyOrder{
    .claim = "Six blocks give the same in any order and grouping, up to rounding.",
    .id = "any-order",
    .weight = 2,
    .needs = {"one-row"},
    .hint =
        "Your result will be merged again: m is the larger one, and O and l are counted in units of exp(m).",
    .run{[](Trial& trial) {
      Random random(trial.seed());
      require_orders(partials(trial), random);
    }},
};

const Check kNormalized{
    .claim = "The other kernel does the same for (out, lse), for any size, level and order.",
    .id = "normalized",
    .weight = 3,
    .needs = {"many-rows"},
    .hint = "out is divided already: by which number must the sum of two weighted outs be divided again?",
    .run{[](Trial& trial) {
      Random random(trial.seed());
      require_sizes(normalized(trial), random, {{1, 64}, {17, 64}, {33, 20}, {3, 1}, {5, 65}, {2, 128}});
      require_sizes(normalized(trial), random, {{3, 64}, {5, 7}}, 1);
      require_merge(normalized(trial), random, {13, 20}, {.rows_left = 4});
      require_levels(normalized(trial), random);
      require_orders(normalized(trial), random);
    }},
};

const Check kNormalizedEmpty{
    .claim = "There, too, a side that has seen no key leaves every bit of the other.",
    .id = "normalized-empty",
    .weight = 2,
    .needs = {"normalized"},
    .hint = "If the block's lse is -inf, there is nothing to do; and if only yours is?",
    .run{[](Trial& trial) {
      Random random(trial.seed());
      for (const Unseen unseen : {Unseen::kBlock, Unseen::kState, Unseen::kBoth})
        require_unseen(normalized(trial), random, unseen);
    }},
};

const Check kMovedOnce{
    .claim = "Each number of O moves once, and neighbouring lanes access neighbouring places.",
    .id = "moved-once",
    .weight = 2,
    .needs = {"normalized"},
    .hint = "Two reads and one write for each number of O. Where is lane n + 1 when lane n reads a float4?",
    .run{[](Trial& trial) {
      Random random(trial.seed());
      for (const MergeKernelCall& kernel : {partials(trial), normalized(trial)}) {
        const Moved moved = moved_by(kernel, random);
        const std::string who = kernel.form == MergeForm::kPartials ? "merge" : "merge_normalized";
        trial.note({"bytes that " + who + " asks for or writes, those of rows beside theory's of O",
                    moved.bytes, moved.of_o, "B"});
        if (!(moved.bytes <= 1.25 * moved.of_o))  // m and l as well
          throw Wrong(sign::kCounts, "too-many-bytes",
                      "{} asks for and writes {} bytes; {} for O, and some for m and l, are enough",
                      Name{who}, Shown{moved.bytes, whole(moved.bytes)}, whole(moved.of_o));
        if (!(moved.sectors <= 1.1 * moved.fewest))
          throw Wrong(sign::kCounts, "scattered",
                      "{} moves {} sectors of 32 bytes, and {} would do: neighbouring lanes are not at "
                      "neighbouring places",
                      Name{who}, Shown{moved.sectors, whole(moved.sectors)}, whole(moved.fewest));
      }
    }},
};

const Check kWholeRing{
    .claim = "Blocks of the harness's table, the keys in four parts, merged by either kernel, are attention.",
    .id = "whole-ring",
    .weight = 2,
    .needs = {"normalized"},
    .hint = "Look at the case's name: which of its words does your merge not handle?",
    .run{[](Trial& trial) {
      std::vector<verify::BlockCase> cases = verify::block_case_table(verify::CaseSet::kBrief);
      for (const MergeKernelCall& kernel : {partials(trial), normalized(trial)}) {
        verify::RoundingRule rule(verify::tensor_core_rounding(DType::kFloat32));
        for (std::size_t i = 0; i < cases.size(); i += 9) {
          cases[i].seed += trial.seed();
          require_ring(kernel, make_head(cases[i]), static_cast<Index>(i), rule);
        }
        require_rule(rule);
      }
    }},
};

}  // namespace

template <>
std::vector<Check> checks_of<RINGCRAFT_LESSON>() {
  std::vector<Check> checks{kOneRow,    kManyRows, kAnySize,    kExtremeMaxima,   kEmptyBlock, kEmptyState,
                            kBothEmpty, kAnyOrder, kNormalized, kNormalizedEmpty, kMovedOnce,  kWholeRing};
  for (Check& check : checks)
    check.interview = [](Trial& trial) {
      return merge_interview(trial, {partials(trial), normalized(trial)});
    };
  return checks;
}

}  // namespace ringcraft::judge
