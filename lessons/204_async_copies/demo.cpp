// Lesson 204: passes over the banks for three layouts of a tile; the bytes that rungs 04 and 05 copy, and
// their products meanwhile; and the tiles that rung 05 skips under masks. The executor counts all of it.
#include <cstdio>

#include "engine/cuda_engine.hpp"
#include "host/async_copies.hpp"
#include "host/checker/traffic.hpp"
#include "host/warp_matrix.hpp"

using namespace ringcraft;
using namespace ringcraft::kernels;
constexpr int kTile = 64, kWidth = 64, kTokens = 320;
int layout;
std::byte* piece(int row, int p) {  // plain, padded by a piece, swizzled
  return simt::shared_memory() + 16 * (layout == 1 ? 9 * row + p : 8 * row + (layout == 2 ? p ^ row % 8 : p));
}
void copy_and_load() {  // one warp: a whole tile of zeros by cp.async, then each piece of 16 rows
  const int lane = simt::this_lane();
  for (int i = lane; i < kTile * 8; i += 32)
    simt::async_copies().start(piece(i / 8, i % 8), nullptr, false, {"", 1});
  unsigned reg[4];
  for (int p = 0; p < 8; p += 2)
    simt::load_matrices({piece(lane % 16, p + lane / 16), reg, 4, simt::Order::kRows, {"", 2}});
}
void print_step(const ForwardRung& rung, const KeyRanges& ranges) {
  CudaEngine engine(0, {.forward = &rung});
  const Buffer zero({1, 1, kTokens, kWidth}, rung.dtype);
  const auto zeros = [&] { return copied_to_device(zero, engine.stream()); };
  RowState state = engine.begin(zero);
  engine.forward(state, zeros(), {zeros(), zeros()}, ranges, 0.125);
  simt::LineTraffic sum;
  for (const simt::LineTraffic& line : simt::last_traffic()) {
    sum.products += line.products, sum.products_ahead += line.products_ahead, sum.copied += line.copied;
    if (line.shared) sum.transfers += line.transfers, sum.least_transfers += line.least_transfers;
    if (line.shared && line.writes) sum.bytes += line.bytes;
  }
  std::printf(" %zu %zu %zu %zu %zu %zu\n", sum.bytes / 1024, sum.copied / 1024, sum.products,
              sum.products_ahead, sum.transfers, sum.least_transfers);
}
int main() {
  simt::settings() = {.check = false, .count_traffic = true};
  std::printf("layout: 0 plain, 1 padded, 2 swizzled; passes of the copies and of ldmatrix, with the fewest");
  for (layout = 0; layout < 3; ++layout) {
    simt::run({1, 32, 9 * 16 * kTile}, copy_and_load);
    std::printf("\n%d", layout);
    for (const auto& one : simt::last_traffic()) std::printf(" %zu %zu", one.transfers, one.least_transfers);
  }
  std::printf("\n\nrung mask full_tiles written_KB cp_async_KB mma mma_ahead passes fewest\n");
  Mask masks[] = {Mask{}, causal_mask(), window_mask(100), causal_mask()};
  masks[3].cu_seqlens = {0, 130, 150, kTokens};
  for (int mask = 0; mask < 4; ++mask)
    for (const ForwardRung* rung : {&kTensorCores, &kPipeline}) {
      const KeyRanges all = key_ranges(masks[mask], kTokens);
      int full = 0;
      for (int a = 0; a < kTokens; a += kTile)
        for (int b = 0; b < kTokens; b += kTile) full += all.tile(a, a + kTile, b, b + kTile) == Tile::kFull;
      std::printf("%d %d %d", rung->number, mask, full);
      print_step(*rung, all);
    }
}
