// Lesson 202: checks of kernels with tiles in shared memory. Beside the values, which are those of lesson
// 201, they count the traffic: every tile is fetched once, and lanes that touch shared memory together meet
// different banks. Every launch is checked: a missing barrier is a data race, reported with both lines.
#include <algorithm>

#include "judge/checks/kernel_checks.hpp"
#include "judge/checks/lesson.hpp"

namespace ringcraft::judge {
namespace {

constexpr Index kTile = 32;  // rows, keys and columns of a tile

KernelRung tiled(Trial& trial) {
  return {[&trial](const KernelStep& step) { return trial.call<TiledKernels>(step).result; }, score_matrix};
}

// Heads after the first kernels of a step.
void require_after(Trial& trial, int launches, const std::vector<HeadShape>& shapes,
                   void (*require)(KernelHead&)) {
  std::uint64_t order = 0;
  for (const HeadShape& shape : shapes) {
    KernelHead head = kernel_head(trial, tiled(trial), shape, full_mask());
    head.step(tiled(trial).call, {.order = order++, .launches = launches});
    require(head);
  }
}

// The traffic of the first kernel, for some whole tiles without a mask.
struct Moved {
  Index rows, keys, head_dim;
  std::vector<MovedByLine> lines;
};
Moved moved_by_scores(Trial& trial) {
  constexpr Index kRows = 2 * kTile, kKeys = kTile, kWidth = 2 * kTile;
  KernelHead head = kernel_head(trial, tiled(trial), {kRows, kKeys, kWidth}, full_mask());
  return {kRows, kKeys, kWidth, head.step(tiled(trial).call, {.launches = 1, .count_traffic = true}).moved};
}

// ---- the checks

const Check kOneTile{
    .claim = "The first kernel computes S where one tile of each operand is enough.",
    .id = "one-tile",
    .weight = 3,
    .hint = "Fetch, barrier, multiply. Which element of k_smem does a lane need at column d of the product?",
    .run{[](Trial& trial) {
      require_after(trial, 1, {{32, 32, 32}, {32, 32, 16}, {20, 32, 32}, {32, 9, 32}, {6, 5, 3}},
                    require_scores);
    }},
};

const Check kManyTiles{
    .claim = "Many tiles of rows, of keys and of columns, and tiles that extend past the borders.",
    .id = "many-tiles",
    .weight = 3,
    .needs = {"one-tile"},
    .hint = "A fast warp is already fetching the next tiles: what must all have done before it may?",
    .run{[](Trial& trial) {
      require_after(trial, 1, {{32, 32, 64}, {64, 32, 32}, {32, 64, 32}, {70, 45, 33}, {33, 65, 100}},
                    require_scores);
    }},
};

const Check kWeights{
    .claim = "The second kernel gives each row to a warp: P, m, l and the factor, for rows of any length.",
    .id = "weights",
    .weight = 3,
    .needs = {"one-tile"},
    .hint =
        "Each lane has read only every 32nd score. Which lane knows the maximum of all, and which need it?",
    .run{[](Trial& trial) {
      require_after(trial, 2, {{3, 5, 4}, {8, 31, 4}, {9, 32, 4}, {7, 33, 4}, {12, 100, 4}}, require_weights);
    }},
};

const Check kValues{
    .claim = "With the third kernel, which is given, the step is attention.",
    .id = "values",
    .weight = 2,
    .needs = {"many-tiles", "weights"},
    .hint = "Only your two kernels are new: look at what they leave in S, in the factor, in m and in l.",
    .run{[](Trial& trial) {
      require_shapes(trial, tiled(trial), {{32, 32, 32}, {6, 9, 4}, {40, 70, 40}});
    }},
};

const Check kAnySize{
    .claim = "Any number of rows, keys and columns, 1 and 65 included, and any softmax_scale.",
    .id = "any-size",
    .weight = 2,
    .needs = {"values"},
    .hint = "What does a tile hold past the end of the matrix, and what does it add to a dot product?",
    .run{[](Trial& trial) {
      require_shapes(trial, tiled(trial),
                     {{1, 1, 1}, {1, 65, 2}, {65, 1, 1}, {5, 3, 128}, {31, 33, 127}, {33, 31, 65}});
      require_scales(trial, tiled(trial));
    }},
};

const Check kMasks{
    .claim = "Causal, windowed, two-sided and packed masks.",
    .id = "masks",
    .weight = 2,
    .needs = {"values"},
    .hint = "A tile may be skipped if no pair of it is visible: which two rows decide?",
    .run{[](Trial& trial) { require_masks(trial, tiled(trial), 40); }},
};

const Check kBlindRows{
    .claim = "A row that sees no key of the block keeps O, m and l to the bit.",
    .id = "blind-rows",
    .weight = 2,
    .needs = {"values"},
    .hint = "If begin[a] is not below end[a], the whole warp has nothing to do.",
    .run{[](Trial& trial) { require_blind_rows(trial, tiled(trial), 3); }},
};

const Check kHotScores{
    .claim = "Scores of hundreds and of +-20000 neither overflow nor vanish.",
    .id = "hot-scores",
    .weight = 2,
    .needs = {"values"},
    .hint = "The maximum of a row begins at the old m, and all 32 lanes must subtract the same one.",
    .run{[](Trial& trial) { require_hot_scores(trial, tiled(trial)); }},
};

const Check kHeadsAndBatch{
    .claim = "Many heads, many batch entries, and query heads that share a KV head.",
    .id = "heads-and-batch",
    .weight = 2,
    .needs = {"values"},
    .hint = "blockIdx.x counts the tiles of one head; this_head() and its neighbours give the rest.",
    .run{[](Trial& trial) { require_heads(trial, tiled(trial)); }},
};

const Check kAddsToTheState{
    .claim = "Keys that come in several steps, in any order, give what one step gives.",
    .id = "adds-to-the-state",
    .weight = 2,
    .needs = {"values"},
    .hint = "The state that you find may have seen other keys: l and O are rescaled by the same factor.",
    .run{[](Trial& trial) { require_state(trial, tiled(trial), 3); }},
};

const Check kCaseTable{
    .claim =
        "Blocks of the harness's table: shards against foreign blocks, every mask, layout and kind of data.",
    .id = "case-table",
    .weight = 2,
    .needs = {"values"},
    .hint = "Look at the case's name: which of its words do your kernels not handle?",
    .run{[](Trial& trial) { require_table(trial, tiled(trial), 14); }},
};

const Check kFetchedOnce{
    .claim = "Each thread block of the first kernel fetches the tiles that it needs once.",
    .id = "fetched-once",
    .weight = 2,
    .needs = {"many-tiles"},
    .hint = "What does one thread read from global memory, and which other threads need the same number?",
    .run{[](Trial& trial) {
      const Moved moved = moved_by_scores(trial);
      double bytes = 0;
      for (const MovedByLine& line : moved.lines)
        if (!line.shared && !line.writes) bytes += static_cast<double>(line.bytes);
      const Index tiles = moved.rows / kTile * (moved.keys / kTile);
      const auto needed = static_cast<double>(tiles * 2 * kTile * moved.head_dim * 4);
      trial.note(
          {"bytes that the threads of the first kernel ask of global memory: the mask, and theory's tiles",
           bytes, needed, "B"});
      if (!(bytes <= 2 * needed))  // begin and end are read as well
        throw Wrong(sign::kCounts, "too-many-bytes",
                    "the threads of the first kernel read {} bytes of global memory; {} for the tiles, and "
                    "some for begin and end, are enough",
                    static_cast<long>(bytes), static_cast<long>(needed));
    }},
};

const Check kBanks{
    .claim = "Lanes that touch shared memory together meet different banks.",
    .id = "banks",
    .weight = 2,
    .needs = {"many-tiles"},
    .hint =
        "Bank of an element: its index modulo 32. Which indices do 32 lanes have that walk down a column?",
    .run{[](Trial& trial) {
      const std::vector<MovedByLine> lines = moved_by_scores(trial).lines;
      require_fewest_passes("", lines, "lanes of a warp");
      if (std::ranges::none_of(lines, &MovedByLine::shared))
        throw Wrong(sign::kCounts, "no-shared-memory", "the first kernel touches no shared memory");
    }},
};

}  // namespace

template <>
std::vector<Check> checks_of<RINGCRAFT_LESSON>() {
  std::vector<Check> checks{kOneTile,     kManyTiles, kWeights,   kValues,        kAnySize,
                            kMasks,       kBlindRows, kHotScores, kHeadsAndBatch, kAddsToTheState,
                            kFetchedOnce, kBanks,     kCaseTable};
  for (Check& check : checks) check.interview = [](Trial& trial) { return one_by_one(trial, tiled(trial)); };
  return checks;
}

}  // namespace ringcraft::judge
