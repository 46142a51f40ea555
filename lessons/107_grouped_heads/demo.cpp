// Lesson 107: the readers of each KV head, found by changing one; its gradients; the memory that is saved.
#include <algorithm>
#include <cstdio>

#include "ringcraft/attention/single_device.hpp"
#include "ringcraft/core/random.hpp"

using namespace ringcraft;
constexpr int kHeads = 8;
const KeyRanges kCausal = key_ranges(causal_mask(), 5);

Buffer tensor(Index heads, std::uint64_t seed) {
  Random random(seed);
  return random_normal({1, heads, 5, 4}, DType::kFloat64, random);
}
const Buffer q = tensor(kHeads, 1);
Output forward(const KvBlock& kv) { return attention_forward(Algorithm::kBlockwise, q, kv, kCausal, 0.5); }

// The KV head of each query head: the one that changes its out.
void print_readers(int kv_heads) {
  KvBlock kv{tensor(kv_heads, 2), tensor(kv_heads, 3)};
  const Output before = forward(kv);
  std::vector<int> read(kHeads, -1);
  for (int g = 0; g < kv_heads; ++g) {
    kv.v = tensor(kv_heads, 3);
    for (double& x : head_of<double>(kv.v, 0, g).data) x += 1;
    const Output after = forward(kv);
    for (int h = 0; h < kHeads; ++h)
      if (!std::ranges::equal(head_of<double>(before.out, 0, h).data, head_of<double>(after.out, 0, h).data))
        read[static_cast<std::size_t>(h)] = g;
  }
  std::printf("%d_on_%d ", kHeads, kv_heads);
  for (const int g : read) std::printf(" %d", g);
  std::printf("\n");
}

// dk(0, 0) of KV head 0 of 2, with the dout of the query heads [first, last) alone.
double dk_of(Index first, Index last) {
  const KvBlock kv{tensor(2, 2), tensor(2, 3)};
  Buffer dout = tensor(kHeads, 4);
  for (Index h = 0; h < kHeads; ++h)
    for (double& x : head_of<double>(dout, 0, h).data) x *= first <= h && h < last;
  Gradients g = attention_backward(Algorithm::kBlockwise, q, kv, forward(kv), dout, kCausal, 0.5);
  return g.dkv.k.values<double>()[0];
}

int main() {
  std::printf("KV head of each query head\n");
  for (const int kv_heads : {8, 4, 2, 1}) print_readers(kv_heads);
  std::printf("\nquery head, its share of dk(0, 0) of KV head 0 of 2\n");
  for (int h = 0; h < kHeads; ++h) std::printf("%d   %9.6f\n", h, dk_of(h, h + 1));
  std::printf("all %9.6f\n", dk_of(0, kHeads));
  std::printf("\nkv_heads, MiB of K and V: a layer (bf16), a hop (bf16), a dKV hop (float)\n");
  for (const int kv_heads : {32, 8, 1}) {
    const Problem p = make_problem({1, 32, kv_heads, 131072, 128}, causal_mask(), Layout::kZigzag, 8);
    const double mega =
        2.0 * static_cast<double>(p.kv_extents(0).elements()) / (1 << 20);  // k and v of a rank
    std::printf("%8d %6g %6g %6g\n", kv_heads, 8 * 2 * mega, 2 * mega, 4 * mega);
  }
}
