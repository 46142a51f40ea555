// Lesson 405: a packed mask and its blocks; packings that look alike from inside a rank; real text, packed.
#include <cstdio>

#include "ringcraft/ring/messages.hpp"
#include "ringcraft/ring/work.hpp"

using namespace ringcraft;
using Lengths = std::vector<Position>;

// Characters of paragraphs of lesson 303, and of the text of eight lessons.
const Lengths kParagraphs = {375, 26, 202, 118, 236, 191, 199, 63,  112, 199, 56,  226, 458, 446, 315, 166,
                             32,  95, 261, 49,  320, 68,  144, 215, 225, 465, 120, 35,  339, 268, 396, 264};
const Lengths kPages = {8296, 6935, 7861, 8295, 6288, 7326, 6196, 6687};

Problem packed(Mask mask, const Lengths& lengths, Layout layout, int ranks, bool per_sequence = false) {
  mask.cu_seqlens = {0};
  for (const Position length : lengths) mask.cu_seqlens.push_back(mask.cu_seqlens.back() + length);
  Problem p = make_problem({.seqlen = mask.cu_seqlens.back(), .head_dim = 64}, mask, layout, ranks);
  p.per_sequence = per_sequence;
  return p;
}
// [step][rank]: visible pairs. Blocks of one head, 2 bytes per number, go as far as a rank needs them.
void print_blocks(const char* name, const Problem& p) {
  Index bytes = 0;
  for (const auto& sent : ring_messages(p, Pass::kForward, Schedule::kForward)) bytes += 2 * sent.elements;
  std::printf("\n%s: %d hops, %d bytes in all\n", name, hops(p), int(bytes));
  for (const auto& step : ring_work(p).pairs)
    for (std::size_t r = 0; r < step.size(); ++r)
      std::printf("%4d%s", int(step[r]), r + 1 < step.size() ? "" : "\n");
}

// Costs: the slowest rank of every step, over a fair share of the pairs.
void print_cost(const char* name, const Problem& p) {
  const double fair = double(key_ranges(p.mask, p.shape.seqlen).pairs()) / p.world_size;
  const RingWork work = ring_work(p);
  std::printf("%-10s %-6s %-10s %d %.1f %.2f %.2f\n", name, p.per_sequence ? "each" : "as_one",
              name_of(p.layout).data(), hops(p), 100 * work.imbalance, double(work.synchronous_cost) / fair,
              double(synchronous_tiles(p, 64) * 64 * 64) / fair);
}

int main() {
  std::puts("causal, cu_seqlens 0 3 4 11 16, 4 ranks: what each token sees");
  const Problem small = packed(causal_mask(), {3, 1, 7, 5}, Layout::kContiguous, 4);
  MaskCursor cursor(small.mask, 16);
  for (Position q = 0; q < 16; ++q) {
    const auto [lo, hi] = cursor.at(q);
    for (Position k = 0; k < 16; ++k) std::putchar(lo <= k && k < hi ? '#' : '.');
    std::printf("  %d %d\n", int(lo), int(hi));
  }
  print_blocks("contiguous", small);
  print_blocks("zigzag", packed(causal_mask(), {3, 1, 7, 5}, Layout::kZigzag, 4));
  print_blocks("zigzag, each by itself", packed(causal_mask(), {3, 1, 7, 5}, Layout::kZigzag, 4, true));
  for (const Lengths& alike : {Lengths{6, 2}, {3, 3, 2}, {1, 10, 1}, {2, 10}})
    print_blocks("window 8", packed(window_mask(8), alike, Layout::kContiguous, alike[1] < 10 ? 2 : 3));
  std::puts("\ntext, dealt, layout: hops, imbalance in percent, cost in pairs, cost in tiles of 64");
  for (const auto& [name, text] : {std::pair{"paragraphs", kParagraphs}, {"pages", kPages}})
    for (const bool each : {false, true})
      for (const Layout layout : {Layout::kContiguous, Layout::kZigzag})
        print_cost(name, packed(causal_mask(), text, layout, 8, each));
}
