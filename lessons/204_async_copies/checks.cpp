// Lesson 204: checks of a kernel that copies ahead. A copy is delivered at the wait that covers it, and not
// before: they find every read that comes too early, and every write into a stage that other threads still
// read. Beside the values they count copies, their kind, and the products made meanwhile.
#include <algorithm>

#include "judge/checks/kernel_checks.hpp"
#include "judge/checks/kernel_interview.hpp"
#include "judge/checks/lesson.hpp"

namespace ringcraft::judge {
namespace {

constexpr Index kTile = 64;      // rows, and keys, of a tile
constexpr Index kWarpRows = 16;  // of these
constexpr Index kNumber = 2;     // bytes

KernelRung pipeline(Trial& trial) {
  return {[&trial](const KernelStep& step) { return trial.call<PipelineKernel>(step).result; }, no_workspace,
          DType::kBFloat16};
}

// Bytes of a tile, and mma of a warp for a tile of keys: S and O, in steps of 16 x 8 x 16.
constexpr std::uint64_t tile_bytes(Index width) {
  return static_cast<std::uint64_t>(kTile * width * kNumber);
}
constexpr std::uint64_t warp_products(Index width) {
  return static_cast<std::uint64_t>(2 * kWarpRows * kTile * width / (16 * 8 * 16));
}

// Bytes and multiply-adds of a step of this head.
struct Work {
  std::uint64_t copied = 0, stored = 0;  // bytes that come into shared memory: by cp.async, and by stores
  std::uint64_t products = 0, ahead = 0;
};
Work counted(Trial& trial, KernelHead& head) {
  Work work;
  for (const MovedByLine& line : head.step(pipeline(trial).call, {.count_traffic = true}).moved) {
    work.products += line.products;
    work.ahead += line.products_ahead;
    work.copied += line.copied;
    if (line.shared && line.writes) work.stored += line.bytes - line.copied;
  }
  return work;
}

// The tiles of keys from the first to the last that a row of the thread block sees, with q; and of these, for
// each warp, the ones that a row of the warp sees.
Work needed(const KeyRanges& ranges, Index width) {
  Work work;
  const auto rows = static_cast<Index>(ranges.begin.size());
  const auto begin = [&](Index a) { return ranges.begin[static_cast<std::size_t>(a)]; };
  const auto end = [&](Index a) { return ranges.end[static_cast<std::size_t>(a)]; };
  for (Index row0 = 0; row0 < rows; row0 += kTile) {
    const Index last = std::min(row0 + kTile, rows) - 1;
    if (begin(row0) >= end(last)) continue;
    work.copied += tile_bytes(width);
    for (Index key0 = begin(row0) / kTile * kTile; key0 < end(last); key0 += kTile) {
      work.copied += 2 * tile_bytes(width);
      for (Index warp0 = row0; warp0 <= last; warp0 += kWarpRows) {
        bool meets = false;
        for (Index a = warp0; a <= std::min(warp0 + kWarpRows - 1, last); ++a)
          meets = meets || (begin(a) < key0 + kTile && key0 < end(a));
        if (meets) work.products += warp_products(width);
      }
    }
  }
  return work;
}

// The last 32 rows of two packed sequences; between their keys lie two tiles that no row sees.
HeadCase head_with_a_gap(Trial& trial, Index width) {
  constexpr Index kRows = 64, kHalf = 32;
  Mask packed;
  packed.cu_seqlens = {0, 70, 250, 5 * kTile};
  HeadCase head = make_head(trial, {kRows, 5 * kTile, width}, packed);
  head.name = "64 queries, 320 keys, head_dim " + std::to_string(width) +
              ", rows 0 to 31 see keys 0 to 69, the others keys 250 to 319";
  for (Index a = 0; a < kRows; ++a) {
    const auto row = static_cast<std::size_t>(a);
    head.problem.queries[row] = a < kHalf ? 38 + a : 256 + a;
    head.ranges.begin[row] = a < kHalf ? 0 : 250;
    head.ranges.end[row] = a < kHalf ? 70 : 320;
  }
  return head;
}

// ---- the checks

const Check kOneTile{
    .claim = "One tile of keys arrives whole before it is multiplied, with zeros past the border.",
    .id = "one-tile",
    .weight = 3,
    .hint =
        "Copy, commit, wait, barrier: which of them orders a thread's own copies, and which those of others?",
    .run{[](Trial& trial) {
      require_shapes(trial, pipeline(trial), {{64, 64, 64}, {16, 64, 64}, {64, 64, 128}, {20, 9, 64}});
    }},
};

const Check kTwoTiles{
    .claim = "The second tile is copied into the other stage while the first is multiplied.",
    .id = "two-tiles",
    .weight = 3,
    .needs = {"one-tile"},
    .hint =
        "Which threads may still read the stage that you copy into, and which line guarantees that none "
        "does?",
    .run{[](Trial& trial) {
      require_shapes(trial, pipeline(trial), {{64, 128, 64}, {33, 100, 64}, {64, 65, 128}});
    }},
};

const Check kManyTiles{
    .claim = "The tiles of keys use two stages alternately, for any number of tiles.",
    .id = "many-tiles",
    .weight = 3,
    .needs = {"two-tiles"},
    .hint = "In which stage lies tile 2, and when did the last warp finish reading tile 0?",
    .run{[](Trial& trial) {
      require_shapes(trial, pipeline(trial), {{64, 192, 64}, {17, 320, 64}, {70, 250, 128}});
    }},
};

const Check kAnySize{
    .claim = "Any number of rows and keys, and any head_dim from 1 to 128, also where rows are not aligned.",
    .id = "any-size",
    .weight = 2,
    .needs = {"many-tiles"},
    .hint = "cp.async copies 16 bytes or writes 16 bytes of 0. What if row 1 begins 40 bytes after row 0?",
    .run{[](Trial& trial) {
      require_shapes(
          trial, pipeline(trial),
          {{1, 1, 1}, {5, 3, 8}, {70, 66, 20}, {33, 31, 40}, {31, 65, 65}, {17, 130, 104}, {64, 64, 4}});
      require_scales(trial, pipeline(trial));
    }},
};

const Check kMasks{
    .claim = "Causal, windowed, two-sided and packed masks, also with tiles in between that no row sees.",
    .id = "masks",
    .weight = 2,
    .needs = {"many-tiles"},
    .hint = "A warp that skips a tile still waits, copies and switches stages, as all others do.",
    .run{[](Trial& trial) {
      require_masks(trial, pipeline(trial), 90);
      verify::RoundingRule rule(verify::tensor_core_rounding(DType::kBFloat16));
      for (const HeadCase& head :
           {head_with_a_gap(trial, 8), make_head(trial, {160, 160, 8}, window_mask(20))}) {
        KernelHead stepped =
            kernel_head(pipeline(trial), head);  // of the second no row sees key 0 in its last tile
        stepped.step(pipeline(trial).call);
        stepped.require_attention(rule);
      }
    }},
};

const Check kBlindRows{
    .claim = "A row that sees no key of the block keeps O, m and l to the bit.",
    .id = "blind-rows",
    .weight = 2,
    .needs = {"many-tiles"},
    .hint = "A row that sees no key has begin = end; what does mask() do with its scores?",
    .run{[](Trial& trial) { require_blind_rows(trial, pipeline(trial), 8); }},
};

const Check kHotScores{
    .claim = "Scores of hundreds and of +-20000 neither overflow nor vanish.",
    .id = "hot-scores",
    .weight = 2,
    .needs = {"many-tiles"},
    .hint = "softmax() is given: what must the scores be multiplied by before it?",
    .run{[](Trial& trial) { require_hot_scores(trial, pipeline(trial)); }},
};

const Check kHeadsAndBatch{
    .claim = "Many heads, many batch entries, and query heads that share a KV head.",
    .id = "heads-and-batch",
    .weight = 2,
    .needs = {"many-tiles"},
    .hint = "tile.first_row and tile.first_key count rows of all heads: which of the two does K begin at?",
    .run{[](Trial& trial) { require_heads(trial, pipeline(trial)); }},
};

const Check kAddsToTheState{
    .claim = "Keys that come in several steps, in any order, give what one step gives.",
    .id = "adds-to-the-state",
    .weight = 2,
    .needs = {"many-tiles"},
    .hint = "merge_into() is given; the partial that you fill belongs to this block's keys alone.",
    .run{[](Trial& trial) { require_state(trial, pipeline(trial), 5); }},
};

const Check kCaseTable{
    .claim =
        "Blocks of the harness's table: shards against foreign blocks, every mask, layout and kind of data.",
    .id = "case-table",
    .weight = 2,
    .needs = {"many-tiles"},
    .hint = "Look at the case's name: which of its words does your kernel not handle?",
    .run{[](Trial& trial) { require_table(trial, pipeline(trial), 14); }},
};

const Check kAhead{
    .claim = "q, K and V come by cp.async, and the next tile is copied while this one is multiplied.",
    .id = "ahead",
    .weight = 3,
    .needs = {"many-tiles"},
    .hint = "Between the barrier and the product: what could already be started there?",
    .run{[](Trial& trial) {
      constexpr Index kWidth = 64, kKeyTiles = 3;
      KernelHead head = kernel_head(trial, pipeline(trial), {kTile, kKeyTiles * kTile, kWidth}, full_mask());
      const Work work = counted(trial, head), want = needed(head.ranges(), kWidth);
      const std::uint64_t want_ahead = want.products / kKeyTiles * (kKeyTiles - 1);
      trial.note(
          {"bytes by cp.async", static_cast<double>(work.copied), static_cast<double>(want.copied), "B"});
      trial.note({"mma while a copy is under way", static_cast<double>(work.ahead),
                  static_cast<double>(want_ahead), ""});
      if (work.copied < want.copied || work.stored > 0)
        throw Wrong(sign::kCounts, "not-copied",
                    "{}: of the {} bytes of q, K and V your kernel brings {} into shared memory by cp.async "
                    "and stores {}, for which a thread must wait until it has them in registers",
                    head.name(), want.copied, work.copied, work.stored);
      if (work.ahead < want_ahead)
        throw Wrong(
            sign::kCounts, "not-ahead",
            "{}: all mma but those of the last tile of keys, {}, can be made while the next tile is copied, "
            "and yours makes {} of them while a copy is under way: start it before you multiply",
            head.name(), want_ahead, work.ahead);
    }},
};

const Check kBanks{
    .claim = "Copies and ldmatrix meet no bank twice, for tiles of 64 and of 128 columns.",
    .id = "banks",
    .weight = 3,
    .needs = {"one-tile"},
    .hint = "Of eight neighbouring rows ldmatrix reads the same piece. In which eight places can it lie?",
    .run{[](Trial& trial) {
      for (const Index width : {Index{64}, Index{128}}) {
        KernelHead head = kernel_head(trial, pipeline(trial), {kTile, kTile, width}, full_mask());
        require_fewest_passes(head.name() + ": ",
                              head.step(pipeline(trial).call, {.count_traffic = true}).moved,
                              "pieces of 16 bytes");
      }
    }},
};

void require_no_more(Trial& trial, KernelHead head) {
  const Work work = counted(trial, head), want = needed(head.ranges(), head.problem().head_dim);
  if (work.copied + work.stored > want.copied)
    throw Wrong(sign::kCounts, "too-many-bytes",
                "{}: your kernel brings {} bytes into shared memory; {} are q and the tiles from the first "
                "to the last key that a row of the thread block sees",
                head.name(), work.copied + work.stored, want.copied);
  if (work.products > want.products)
    throw Wrong(
        sign::kCounts, "too-many-products",
        "{}: your kernel makes {} mma, and {} are those of warps with a row that sees a key of the tile",
        head.name(), work.products, want.products);
}

const Check kSkipped{
    .claim =
        "No thread block copies a tile that it does not see, and no warp multiplies a tile that none of its "
        "rows sees.",
    .id = "skipped",
    .weight = 2,
    .needs = {"masks"},
    .hint =
        "tile.first_visible() and tile.end_last bound the copies; visible.meets() covers two rows of a warp.",
    .run{[](Trial& trial) {
      constexpr Index kWidth = 64, kTokens = 160;
      Mask packed = causal_mask();
      packed.cu_seqlens = {0, 70, 75, kTokens};
      for (const Mask& mask : {causal_mask(), window_mask(20), packed})
        require_no_more(trial, kernel_head(trial, pipeline(trial), {kTokens, kTokens, kWidth}, mask));
      require_no_more(trial, kernel_head(pipeline(trial), head_with_a_gap(trial, kWidth)));
    }},
};

}  // namespace

template <>
std::vector<Check> checks_of<RINGCRAFT_LESSON>() {
  std::vector<Check> checks{kOneTile,   kTwoTiles,  kManyTiles,     kAnySize,        kMasks,
                            kBlindRows, kHotScores, kHeadsAndBatch, kAddsToTheState, kAhead,
                            kBanks,     kSkipped,   kCaseTable};
  for (Check& check : checks)
    check.interview = [](Trial& trial) { return tile_interview(trial, pipeline(trial)); };
  return checks;
}

}  // namespace ringcraft::judge
