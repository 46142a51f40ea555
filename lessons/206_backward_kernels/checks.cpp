// Lesson 206: checks of the two kernels of backward rung 02. They run the first one alone, and then both, and
// check every launch. lse and delta are those of whole rows. The expected results are the oracle's gradients,
// with the same bits in every order of threads and thread blocks; the judge counts the traffic.
#include <algorithm>
#include <string>

#include "judge/checks/gradient_trial.hpp"
#include "judge/checks/kernel_checks.hpp"
#include "judge/checks/kernel_interview.hpp"
#include "judge/checks/lesson.hpp"

namespace ringcraft::judge {
namespace {

using verify::Data;
using verify::RoundingRule;

constexpr Index kTile = 32;      // own rows of a tile, and other rows
constexpr Index kThreads = 128;  // of a thread block
constexpr Index kNumber = 4;     // bytes

GradientCall two_kernels(Trial& trial) {
  return [&trial](const GradientStep& step) { return trial.call<GradientKernels>(step).result; };
}

// Gradients from 0 are the oracle's.
void require_step(Trial& trial, GradientHead head, RoundingRule& rule, HowRun how = {},
                  const std::vector<std::string_view>& only = {}) {
  head.step(two_kernels(trial), how);
  head.require_gradients(rule, only);
}

void require_sizes(Trial& trial, const std::vector<HeadShape>& shapes, HowRun how = {},
                   const std::vector<std::string_view>& only = {}) {
  RoundingRule rule(verify::tensor_core_rounding(DType::kFloat32));
  for (const HeadShape& shape : shapes) {
    require_step(trial, GradientHead(make_head(trial, shape, full_mask())), rule, how, only);
    ++how.order;
  }
}

std::vector<Mask> all_masks(Position tokens) {
  Mask two_sided = window_mask(4), packed = causal_mask();
  two_sided.right = 2;
  packed.cu_seqlens = {0, 1, 6, 40, tokens};
  return {causal_mask(), window_mask(20), two_sided, packed};
}

// ---- what moves

enum class Which { kDq = 1, kDkDv = 2 };  // a kernel, by how many launches it takes to run it

// Bytes; of_rows are those of lse, delta and the ends of the mask.
struct Work {
  Index read = 0, written = 0, from_shared = 0, of_rows = 0;
};

Work moved_by(Trial& trial, GradientHead& head, Which kernel) {
  Work work;
  const HowRun how{.launches = static_cast<int>(kernel), .count_traffic = true};
  for (const MovedByLine& line : head.step(two_kernels(trial), how).moved) {
    const auto bytes = static_cast<Index>(line.bytes);
    if (line.shared)
      work.from_shared += line.writes ? 0 : bytes;
    else
      (line.writes ? work.written : work.read) += bytes;
  }
  return work;
}

// Reads of shared memory by a product of two tiles of 64 columns: of scores, a thread reads for four columns
// of two own rows and four other ones; of a gradient, for four other rows two float4 of weights and eight of
// columns.
constexpr Index kScoreBytes = kThreads * (64 / 4) * (2 + 4) * 16;
constexpr Index kGradientBytes = kThreads * (kTile / 4) * (2 + 8) * 16;

// Sufficient traffic for own rows that meet the other rows of these ranges, all extents being multiples of
// kTile: own tiles once, the other ones each time that they stream past, gradients once in and once out. Each
// of the eight lanes of an own row may read the row's numbers; where rows are the other ones, each pair's.
Work enough(const KeyRanges& ranges, Index heads, Index group, Which kernel) {
  constexpr Index kTileBytes = kTile * 64 * kNumber, kOwnRowBytes = 8 * 6 * kNumber;
  const Index gradients = kernel == Which::kDq ? 1 : 2;
  Work work;
  const auto own_rows = static_cast<Index>(ranges.begin.size());
  for (Index own = 0; own < own_rows; own += kTile) {
    const Index first = ranges.begin[static_cast<std::size_t>(own)] / kTile * kTile;
    const Index last = ranges.end[static_cast<std::size_t>(own + kTile - 1)];
    const Index turns = group * ((last - first + kTile - 1) / kTile);
    work.read += heads * kTileBytes * (2 + 2 * turns + gradients);
    work.written += heads * kTileBytes * gradients;
    work.from_shared += heads * turns * (2 * kScoreBytes + gradients * kGradientBytes);
    work.of_rows += heads * kTile * kOwnRowBytes;
    if (kernel == Which::kDkDv) work.of_rows += heads * turns * kTile * kTile * 2 * kNumber;
  }
  return work;
}

constexpr const char* kKernelNames[] = {"", "dq_kernel", "dkdv_kernel"};

// 64 columns; for dk and dv a group of two.
GradientHead counted_head(Trial& trial, Index tokens, const Mask& mask, Which kernel) {
  return GradientHead(make_head(
      trial, {.rows = tokens, .keys = tokens, .head_dim = 64, .heads = kernel == Which::kDq ? 1 : 2}, mask));
}
Work enough_for(const GradientHead& head, Which kernel) {
  const verify::BlockProblem& p = head.problem();
  return kernel == Which::kDq ? enough(head.ranges(), p.heads, 1, kernel)
                              : enough(head.ranges().transposed(static_cast<int>(head.keys())), p.kv_heads,
                                       p.heads / p.kv_heads, kernel);
}

void require_moved(Trial& trial, Which kernel, Index tokens, const Mask& mask) {
  GradientHead head = counted_head(trial, tokens, mask, kernel);
  const Work work = moved_by(trial, head, kernel), want = enough_for(head, kernel);
  const std::string who = head.name() + ": " + kKernelNames[static_cast<int>(kernel)];
  trial.note({std::string("bytes that ") + kKernelNames[static_cast<int>(kernel)] + " reads (" +
                  described(mask) + "), lse, delta and the mask beside theory's tiles and gradients",
              static_cast<double>(work.read), static_cast<double>(want.read), "B"});
  if (work.written != want.written)
    throw Wrong(sign::kCounts, "bytes-written",
                "{} writes {} bytes of global memory, and {} are its gradients, each number once", who,
                work.written, want.written);
  if (work.read > want.read + want.of_rows)
    throw Wrong(
        sign::kCounts, "too-many-bytes",
        "{} reads {} bytes of global memory; {} are the own tiles once, the other ones that are seen "
        "each time that they stream past, and the gradients; {} are enough for lse, delta and the mask",
        who, work.read, want.read, want.of_rows);
  if (work.read < want.read)
    throw Wrong(sign::kCounts, "too-few-bytes",
                "{} reads {} bytes of global memory, and {} are needed: where does it read the rest?", who,
                work.read, want.read);
}

void require_products(Trial& trial, Which kernel) {
  GradientHead head = counted_head(trial, 32, full_mask(), kernel);
  const std::vector<MovedByLine> moved =
      head.step(two_kernels(trial), {.launches = static_cast<int>(kernel), .count_traffic = true}).moved;
  Index read = 0;
  for (const MovedByLine& line : moved)
    if (line.shared && !line.writes) read += static_cast<Index>(line.bytes);
  const Index want = enough_for(head, kernel).from_shared;
  const std::string who = head.name() + ": " + kKernelNames[static_cast<int>(kernel)];
  trial.note({std::string("bytes of shared memory that ") + kKernelNames[static_cast<int>(kernel)] + " reads",
              static_cast<double>(read), static_cast<double>(want), "B"});
  if (read == 0) throw Wrong(sign::kCounts, "no-shared-memory", "{} reads no shared memory", who);
  if (read > want * 21 / 20)
    throw Wrong(sign::kCounts, "too-many-shared-bytes",
                "{} reads {} bytes of shared memory; {} are enough for {} products of each pair of tiles",
                who, read, want, kernel == Which::kDq ? "three" : "four");
  require_fewest_passes(who + ": ", moved, "lanes of a warp");
}

// ---- the checks

const Check kOnlyDq{
    .claim = "The first kernel, alone, adds dq of one tile of rows and one tile of keys.",
    .id = "dq",
    .weight = 3,
    .hint =
        "P comes from lse, and dS from P, dP and delta: which of these four belong to a row, and where does "
        "the scale stand?",
    .run{[](Trial& trial) {
      RoundingRule rule(verify::tensor_core_rounding(DType::kFloat32));
      GradientHead counted(make_head(trial, {20, 9, 64}, full_mask()));
      const Work work = moved_by(trial, counted, Which::kDq);
      counted.require_gradients(rule, {"dq"});
      if (work.written == 0)
        throw Wrong(sign::kCounts, "nothing-written",
                    "{}: dq is there, and the first kernel has written nothing", counted.name());
      require_sizes(trial, {{32, 32, 64}, {5, 9, 40}, {32, 32, 128}}, {.order = 1, .launches = 1}, {"dq"});
    }},
};

const Check kOnlyDkDv{
    .claim = "The second kernel adds dk and dv of one tile of keys and one tile of rows.",
    .id = "dk-dv",
    .weight = 3,
    .needs = {"dq"},
    .hint =
        "Now keys are the own rows: whose lse is it in column j of a tile of weights, and which of the two "
        "tiles of weights meets dout?",
    .run{[](Trial& trial) {
      require_sizes(trial, {{32, 32, 64}, {5, 9, 40}, {32, 32, 128}}, {}, {"dk", "dv"});
    }},
};

const Check kManyTiles{
    .claim = "Many tiles of rows and of keys, of 64 and of 128 columns.",
    .id = "many-tiles",
    .weight = 3,
    .needs = {"dk-dv"},
    .hint =
        "Which threads may still read the tile that you are about to overwrite, and what must outlive it?",
    .run{[](Trial& trial) {
      require_sizes(trial, {{32, 96, 64}, {96, 32, 64}, {5, 33, 128}}, {.order = 1});
    }},
};

const Check kAnySize{
    .claim = "Any number of rows and keys, any head_dim from 1 to 128, any softmax_scale.",
    .id = "any-size",
    .weight = 2,
    .needs = {"many-tiles"},
    .hint = "What do threads without an own row do, and where do their numbers come from?",
    .run{[](Trial& trial) {
      require_sizes(trial, {{1, 1, 1}, {1, 40, 2}, {37, 1, 3}, {5, 31, 65}, {7, 4, 127}});
      RoundingRule rule(verify::tensor_core_rounding(DType::kFloat32));
      for (const double scale : {0.0, -0.7, 1.0}) {
        HeadCase head = make_head(trial, {6, 8, 4}, full_mask());
        head.problem.softmax_scale = scale;
        head.name += ", softmax_scale " + std::to_string(scale);
        require_step(trial, GradientHead(head), rule);
      }
    }},
};

const Check kMasks{
    .claim = "Causal, windowed, two-sided and packed masks.",
    .id = "masks",
    .weight = 2,
    .needs = {"many-tiles"},
    .hint = "visible(i, other) asks for the number of the other row in its head, not in its tile.",
    .run{[](Trial& trial) {
      RoundingRule rule(verify::tensor_core_rounding(DType::kFloat32));
      for (const Mask& mask : all_masks(60))
        require_step(trial, GradientHead(make_head(trial, {60, 60, 3}, mask)), rule, {.order = 1});
    }},
};

// Rows before the first key and after the last one, keys that no row sees, a block that no row sees.
const Check kBlindRows{
    .claim =
        "Rows without a key, and keys without a row, add nothing and get nothing, for any lse and delta "
        "there.",
    .id = "blind-rows",
    .weight = 2,
    .needs = {"many-tiles"},
    .hint = "NaN times 0 is NaN: what must a pair that is not seen never be multiplied with?",
    .run{[](Trial& trial) {
      const HeadShape early{40, 20, 3, 0, 25}, late{40, 20, 3, 20, 0}, none{40, 20, 3, 200, 0};
      RoundingRule rule(verify::tensor_core_rounding(DType::kFloat32));
      Random random(trial.seed());
      for (const auto& [shape, mask] :
           {std::pair{early, causal_mask()}, {late, window_mask(15)}, {none, window_mask(35)}}) {
        const HeadCase head = make_head(trial, shape, mask);
        GradientHead begun(head);
        const auto before = begun.begin_with(random);
        begun.step(two_kernels(trial), {.order = 2});
        begun.require_unseen_untouched(before);
        require_step(trial, GradientHead(head), rule);
      }
    }},
};

const Check kHotScores{
    .claim = "Scores of hundreds and of +-20000 neither overflow nor vanish.",
    .id = "hot-scores",
    .weight = 2,
    .needs = {"many-tiles"},
    .hint = "Subtract lse from the score before you take the exponential, not after.",
    .run{[](Trial& trial) {
      RoundingRule rule(verify::tensor_core_rounding(DType::kFloat32));
      for (const Data data : verify::kAllData) {
        require_step(trial, GradientHead(make_head(trial, {9, 17, 6, 6}, causal_mask(), data)), rule);
      }
    }},
};

const Check kGroups{
    .claim = "Many heads, many batch entries; dk and dv are sums over the query heads of their group.",
    .id = "groups",
    .weight = 3,
    .needs = {"many-tiles"},
    .hint =
        "Which query heads read KV head 1 if 8 heads share 2, and in which rows of q, lse and delta do they "
        "lie?",
    .run{[](Trial& trial) {
      const auto heads = [](Index batch, Index count, Index kv_heads) {
        return HeadShape{
            .rows = 5, .keys = 7, .head_dim = 4, .batch = batch, .heads = count, .kv_heads = kv_heads};
      };
      require_sizes(trial, {heads(2, 2, 2), heads(1, 6, 3), heads(1, 8, 2), heads(2, 4, 2)}, {.order = 1});
    }},
};

const Check kAdds{
    .claim =
        "Gradients are added to what is there, and keys that come in several steps give what one step gives, "
        "with the lse and the delta of the whole row.",
    .id = "adds",
    .weight = 3,
    .needs = {"many-tiles"},
    .hint = "A step of a ring knows a part of the keys: which numbers can it not compute itself?",
    .run{[](Trial& trial) {
      Random random(trial.seed());
      const HeadCase small = make_head(trial, {20, 40, 4, 10, 0}, causal_mask());
      GradientHead from_zero(small), grown(small);
      const auto before = grown.begin_with(random);
      from_zero.step(two_kernels(trial));
      grown.step(two_kernels(trial));
      grown.require_grown(before, from_zero);

      RoundingRule rule(verify::tensor_core_rounding(DType::kFloat32));
      const HeadCase whole = make_head(trial, {20, 70, 4, 50, 0}, window_mask(45), Data::kPeaked);
      GradientHead head(whole);
      head.rename(head.name() + ", the keys in 3 steps");
      for (const auto& [first, last] : {std::pair<Index, Index>{45, 50}, {0, 45}, {50, 70}})
        head.step(two_kernels(trial), first, last);
      head.require_gradients(rule);
    }},
};

const Check kSameBits{
    .claim = "Every order of threads and thread blocks gives the same bits.",
    .id = "same-bits",
    .weight = 2,
    .needs = {"groups"},
    .hint = "How many threads add to one number of dk, and what decides which of them comes first?",
    .run{[](Trial& trial) {
      const HeadCase head =
          make_head(trial, {.rows = 20, .keys = 70, .head_dim = 8, .heads = 3, .kv_heads = 1}, full_mask());
      RoundingRule rule(verify::tensor_core_rounding(DType::kFloat32));
      GradientHead first(head);
      first.step(two_kernels(trial));
      first.require_gradients(rule);
      GradientHead again(head);
      again.step(two_kernels(trial), {.order = 1 + trial.seed()});
      again.require_same_bits(first, "in another order of threads and thread blocks");
    }},
};

const Check kMovedOnce{
    .claim =
        "Own tiles are read once, other ones each time that they stream past, none that no row sees, and "
        "each number of a gradient is written once.",
    .id = "moved-once",
    .weight = 2,
    .needs = {"groups"},
    .hint = "What stays where it is while the other tiles stream past?",
    .run{[](Trial& trial) {
      for (const Which kernel : {Which::kDq, Which::kDkDv}) {
        require_moved(trial, kernel, 2 * kTile, causal_mask());
        require_moved(trial, kernel, 4 * kTile, window_mask(kTile));  // ends of ranges are ends of tiles
      }
    }},
};

const Check kSevenProducts{
    .claim = "Three products of tiles for dq, four for dk and dv, and no bank is met twice.",
    .id = "seven-products",
    .weight = 2,
    .needs = {"groups"},
    .hint = "S and dP serve dk as well as dv. Which element of a tile of weights do 32 lanes write together?",
    .run{[](Trial& trial) {
      for (const Which kernel : {Which::kDq, Which::kDkDv}) require_products(trial, kernel);
    }},
};

const Check kCaseTable{
    .claim =
        "Blocks of the harness's table: shards against foreign blocks, every mask, layout and kind of data.",
    .id = "case-table",
    .weight = 2,
    .needs = {"masks", "groups"},
    .hint = "Look at the case's name: which of its words do your kernels not handle?",
    .run{[](Trial& trial) {
      RoundingRule rule(verify::tensor_core_rounding(DType::kFloat32));
      std::vector<verify::BlockCase> cases = verify::block_case_table(verify::CaseSet::kBrief);
      for (std::size_t i = 1; i < cases.size(); i += 17) {
        cases[i].seed += trial.seed();
        require_step(trial, GradientHead(make_head(cases[i])), rule, {.order = i});
      }
    }},
};

}  // namespace

template <>
std::vector<Check> checks_of<RINGCRAFT_LESSON>() {
  std::vector<Check> checks{kOnlyDq,    kOnlyDkDv,      kManyTiles, kAnySize, kMasks,
                            kBlindRows, kHotScores,     kGroups,    kAdds,    kSameBits,
                            kMovedOnce, kSevenProducts, kCaseTable};
  for (Check& check : checks)
    check.interview = [](Trial& trial) { return gradient_interview(trial, two_kernels(trial)); };
  return checks;
}

}  // namespace ringcraft::judge
