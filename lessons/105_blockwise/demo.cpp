// Lesson 105: the state of one query, tile by tile; the tiles that a mask leaves; what a tile's size changes.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <numbers>

#include "ringcraft/attention/single_device.hpp"
#include "ringcraft/core/random.hpp"

using namespace ringcraft;

void one_query() {  // of 1, with a scale of ln 2: a key is its own score, in units of ln 2
  const double query = 1, scores[] = {1, 3, 0, 2, 5, 2, 4, 1}, values[] = {4, 1, 8, 2, 6, 0, 4, -16};
  double out = 0, max = -std::numeric_limits<double>::infinity(), sum = 0;
  std::printf("keys   m/ln2        l        O    O / l\n");
  for (std::size_t j = 0; j < 8; j += 2) {
    const Matrix<const double> k{{scores + j, 2}, 2, 1}, v{{values + j, 2}, 2, 1};
    blockwise_forward<double>({{&query, 1}, 1, 1}, k, v, {{0}, {2}}, std::numbers::ln2,
                              {{{&out, 1}, 1, 1}, {&max, 1}, {&sum, 1}});
    std::printf("%zu,%zu %8g %8.5f %8.4f %8.4f\n", j, j + 1, max / std::numbers::ln2, sum, out, out / sum);
  }
}

// Tiles with a visible pair; names every tile if asked to.
int count_tiles(const KeyRanges& ranges, int size, const char* title = nullptr) {
  int count = 0;
  if (title) std::printf("\n%s\n", title);
  for (int row = 0; row < ranges.rows(); row += size)
    for (int key = 0; key < ranges.rows(); key += size) {
      const Tile tile = ranges.tile(row, row + size, key, key + size);
      count += tile != Tile::kEmpty;
      const char* name = tile == Tile::kEmpty ? "empty" : tile == Tile::kFull ? "full" : "partial";
      if (title) std::printf("%8s%s", name, key + size == ranges.rows() ? "\n" : "");
    }
  return count;
}

int main() {
  one_query();
  count_tiles(key_ranges(causal_mask(), 16), 4, "causal");
  count_tiles(key_ranges(window_mask(5), 16), 4, "window 5");
  count_tiles(key_ranges({kNoLimit, 0, {0, 6, 16}}, 16), 4, "causal, packed 6 + 10");

  Random random(105);
  const auto tensor = [&] { return random_normal({1, 1, 512, 16}, DType::kFloat64, random); };
  const Buffer q = tensor();
  const KvBlock kv{tensor(), tensor()};
  const KeyRanges causal = key_ranges(causal_mask(), 512);
  const Output dense = attention_forward(Algorithm::kDense, q, kv, causal, 0.25);
  std::printf("\ntile  tiles  pairs_computed  pairs_visible  scores_held  equals_dense\n");
  for (const int size : {1, 16, 64, 256, 512}) {
    const Output tiled = attention_forward(Algorithm::kBlockwise, q, kv, causal, 0.25, {size, size});
    const bool same = std::ranges::equal(dense.out.values<double>(), tiled.out.values<double>(),
                                         [](double a, double b) { return std::fabs(a - b) < 1e-13; });
    const int count = count_tiles(causal, size), area = size * size;
    std::printf("%4d %6d %15d %14d %12d  %s\n", size, count, count * area, static_cast<int>(causal.pairs()),
                area, same ? "to 1e-13" : "no");
  }
}
