// Lesson 202: what kernels with tiles in shared memory must do. Beside the values, which are those of lesson
// 201, it is counted what moves: every tile is fetched once, and lanes that touch shared memory together meet
// different banks. Every launch is checked: a missing barrier is a data race, with both lines.
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

// What the first kernel moves, for some whole tiles without a mask.
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

void one_tile(Trial& trial) {
  require_after(trial, 1, {{32, 32, 32}, {32, 32, 16}, {20, 32, 32}, {32, 9, 32}, {6, 5, 3}}, require_scores);
}

void many_tiles(Trial& trial) {
  require_after(trial, 1, {{32, 32, 64}, {64, 32, 32}, {32, 64, 32}, {70, 45, 33}, {33, 65, 100}},
                require_scores);
}

void weights(Trial& trial) {
  require_after(trial, 2, {{3, 5, 4}, {8, 31, 4}, {9, 32, 4}, {7, 33, 4}, {12, 100, 4}}, require_weights);
}

void values(Trial& trial) { require_shapes(trial, tiled(trial), {{32, 32, 32}, {6, 9, 4}, {40, 70, 40}}); }

void any_size(Trial& trial) {
  require_shapes(trial, tiled(trial),
                 {{1, 1, 1}, {1, 65, 2}, {65, 1, 1}, {5, 3, 128}, {31, 33, 127}, {33, 31, 65}});
  require_scales(trial, tiled(trial));
}

void masks(Trial& trial) { require_masks(trial, tiled(trial), 40); }
void blind_rows(Trial& trial) { require_blind_rows(trial, tiled(trial), 3); }
void hot_scores(Trial& trial) { require_hot_scores(trial, tiled(trial)); }
void heads_and_batch(Trial& trial) { require_heads(trial, tiled(trial)); }
void adds_to_the_state(Trial& trial) { require_state(trial, tiled(trial), 3); }
void case_table(Trial& trial) { require_table(trial, tiled(trial), 14); }

void fetched_once(Trial& trial) {
  const Moved moved = moved_by_scores(trial);
  double bytes = 0;
  for (const MovedByLine& line : moved.lines)
    if (!line.shared && !line.writes) bytes += static_cast<double>(line.bytes);
  const Index tiles = moved.rows / kTile * (moved.keys / kTile);
  const auto needed = static_cast<double>(tiles * 2 * kTile * moved.head_dim * 4);
  trial.note(
      {"bytes that the threads of the first kernel ask of global memory, the mask beside theory's tiles",
       bytes, needed, "B"});
  if (!(bytes <= 2 * needed))  // begin and end are read as well
    throw Wrong(sign::kCounts, "the threads of the first kernel read " +
                                   std::to_string(static_cast<long>(bytes)) + " bytes of global memory; " +
                                   std::to_string(static_cast<long>(needed)) +
                                   " for the tiles, and some for begin and end, are enough");
}

void banks(Trial& trial) {
  const std::vector<MovedByLine> lines = moved_by_scores(trial).lines;
  require_fewest_passes("", lines, "lanes of a warp");
  if (std::ranges::none_of(lines, &MovedByLine::shared))
    throw Wrong(sign::kCounts, "the first kernel touches no shared memory");
}

}  // namespace

Lesson lesson_202() {
  return {
      .number = 202,
      .name = "202_tiles",
      .title = "Tiles and online softmax",
      .source = "kernels/forward/02_tiles.cu",
      .function = "load_tile, scores and softmax",
      .allowed = {"ringcraft::simt::sync_threads", "ringcraft::simt::warp_operation",
                  "ringcraft::simt::this_lane"},
      .checks = {
          {"one-tile",
           3,
           {},
           "The first kernel computes S where one tile of each operand is enough.",
           "Fetch, barrier, multiply. Which element of k_smem does a lane need at column d of the product?",
           one_tile},
          {"many-tiles",
           3,
           {"one-tile"},
           "Many tiles of rows, of keys and of columns, and tiles that reach behind the borders.",
           "A fast warp is already fetching the next tiles: what must all have done before it may?",
           many_tiles},
          {"weights",
           3,
           {"one-tile"},
           "The second kernel gives each row to a warp: P, m, l and the factor, for rows of any length.",
           "Each lane has looked at every 32nd score only. Who knows the maximum of all, and who needs it?",
           weights},
          {"values",
           2,
           {"many-tiles", "weights"},
           "With the third kernel, which is given, the step is attention.",
           "Only your two kernels are new: look at what they leave in S, in the factor, in m and in l.",
           values},
          {"any-size",
           2,
           {"values"},
           "Any number of rows, keys and columns, 1 and 65 included, and any softmax_scale.",
           "What stands in a tile where the matrix has ended, and what does it add to a dot product?",
           any_size},
          {"masks",
           2,
           {"values"},
           "Causal, windowed, two-sided and packed masks.",
           "A tile may be skipped if no pair of it is visible: which two rows decide?",
           masks},
          {"blind-rows",
           2,
           {"values"},
           "A row that sees no key of the block keeps O, m and l to the bit.",
           "If begin[a] is not below end[a], the whole warp has nothing to do.",
           blind_rows},
          {"hot-scores",
           2,
           {"values"},
           "Scores of hundreds and of +-20000 neither overflow nor vanish.",
           "The maximum of a row begins at the old m, and all 32 lanes must subtract the same one.",
           hot_scores},
          {"heads-and-batch",
           2,
           {"values"},
           "Many heads, many batch entries, and query heads that share a KV head.",
           "blockIdx.x counts the tiles of one head; this_head() and its friends know the rest.",
           heads_and_batch},
          {"adds-to-the-state",
           2,
           {"values"},
           "Keys that come in several steps, in any order, give what one step gives.",
           "The state that you find may have seen other keys: l and O are rescaled by the same factor.",
           adds_to_the_state},
          {"fetched-once",
           2,
           {"many-tiles"},
           "Each thread block of the first kernel fetches the tiles that it needs once.",
           "What does one thread read from global memory, and who else needs the same number?",
           fetched_once},
          {"banks",
           2,
           {"many-tiles"},
           "Lanes that touch shared memory together meet different banks.",
           "Bank of an element: its index modulo 32. Which indices do 32 lanes have that walk down a column?",
           banks},
          {"case-table",
           2,
           {"values"},
           "Blocks of the harness's table: shards against foreign blocks, every mask, layout and kind of "
           "data.",
           "Look at the case's name: which of its words do your kernels not handle?",
           case_table},
      }};
}

}  // namespace ringcraft::judge
