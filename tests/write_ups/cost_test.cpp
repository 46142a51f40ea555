// Bytes, times and sums as popular write-ups have them.
#include <cmath>

#include "ringcraft/core/buffer.hpp"
#include "ringcraft/ring/theory.hpp"
#include "ringcraft/ring/timed_ring.hpp"
#include "support/catch.hpp"

using namespace ringcraft;

namespace {

constexpr double kMiB = 1 << 20, kGiB = 1 << 30;

// Bytes of the scores of one head for rows x keys.
double score_bytes(double rows, double keys, double number_bytes) { return rows * keys * number_bytes; }

// A GPU of 312 TFLOP/s, 32 heads of 128 numbers, bf16; a hop uses one direction of a link.
StepTime step(double tokens, double link, double share_of_pairs = 1, double kv_heads = 32) {
  constexpr double kHeads = 32, kWidth = 128, kFlops = 312e12;
  return {4 * tokens * tokens * kWidth * kHeads * share_of_pairs / kFlops,
          2 * tokens * kWidth * kv_heads * 2 / link, 0};
}

// The smallest number of tokens of a rank for which a hop hides under a block.
double threshold(double link, double share_of_pairs = 1, double kv_heads = 32) {
  double tokens = 1;
  while (forward_time(7, step(tokens, link, share_of_pairs, kv_heads)) >
         8 * step(tokens, link, share_of_pairs, kv_heads).compute * (1 + 1e-12))
    ++tokens;
  return tokens;
}

}  // namespace

TEST_CASE("the score matrix counts elements, and bytes depend on their type and on heads") {
  CHECK(score_bytes(8192, 8192, 2) == 128 * kMiB);
  CHECK(score_bytes(131072, 131072, 1) == 16 * kGiB);  // 2^34 elements, not 16 GB of half precision
  CHECK(score_bytes(131072, 131072, 2) == 32 * kGiB);
  CHECK(32 * score_bytes(65536, 65536, 2) == 256 * kGiB);  // a layer of 32 heads
}

TEST_CASE("the score block of a rank falls with the square of the number of ranks") {
  const double whole = 131072;
  const double expected[] = {32, 8, 2, 0.5};
  int i = 0;
  for (const double ranks : {1.0, 2.0, 4.0, 8.0})
    CHECK(score_bytes(whole / ranks, whole / ranks, 2) == expected[i++] * kGiB);
}

TEST_CASE("two matrix products for each block: the least shard that hides a hop") {
  CHECK(threshold(300e9) == 1040);
  CHECK(threshold(300e9, 0.5) == 2080);  // a causal zig-zag has half of the pairs
  CHECK(threshold(600e9) == 520);        // both directions of the link counted as one
  CHECK(threshold(300e9, 1, 8) == 260);  // 8 KV heads for 32 heads
  CHECK(threshold(50e9) == 6240);
}

TEST_CASE("clocks of the least shard: nothing is exposed, and with a token less something is") {
  const auto exposed = [](const Mask& mask, Layout layout, Index kv_heads, Position tokens) {
    const Shape shape{.heads = 32, .kv_heads = kv_heads, .seqlen = 4 * tokens, .head_dim = 128};
    const TimedRing costs =
        timed_ring(make_problem(shape, mask, layout, 4), Pass::kForward, Schedule::kForward, {2, 4},
                   {.per_pair = 4.0 * 128 * 32 / 312e12}, {.beta = 300e9});
    const RingClocks clocks = ring_clocks(costs);
    return clocks.exposed[0] / clocks.ends[0];
  };
  CHECK(exposed(full_mask(), Layout::kContiguous, 32, 1040) < 1e-9);
  CHECK(exposed(full_mask(), Layout::kContiguous, 32, 1039) > 1e-4);
  CHECK(exposed(full_mask(), Layout::kContiguous, 8, 260) < 1e-9);
  CHECK(exposed(full_mask(), Layout::kContiguous, 8, 259) > 1e-3);
  CHECK(exposed(causal_mask(), Layout::kZigzag, 32, 2080) < 1e-9);
  CHECK(exposed(causal_mask(), Layout::kZigzag, 32, 2078) > 1e-4);
}

TEST_CASE("eight ranks, blocks of 2 MiB, with latency: a ring, and a gather before the computing") {
  constexpr double kBlock = 8 * 262144, kHop = 5e-6 + kBlock / 50e9, kCompute = 100e-6;
  CHECK(kHop * 1e6 == Approx(46.943).epsilon(1e-4));
  CHECK(forward_time(7, {kCompute, kHop, 0}) == Approx(0.8e-3));
  CHECK(8 * kCompute + 7 * kHop == Approx(1.1286e-3).epsilon(1e-4));
}

TEST_CASE("a step of 16384 tokens for each of 8 ranks, in milliseconds") {
  const StepTime time = step(16384, 300e9);
  CHECK(time.compute * 1e3 == Approx(14.0963).epsilon(1e-5));
  CHECK(time.kv_transfer * 1e3 == Approx(0.894785).epsilon(1e-5));
  CHECK(time.compute / time.kv_transfer == Approx(15.753846).epsilon(1e-6));
}

TEST_CASE("sums in low precision stop growing") {
  CHECK(16777216.0F + 1.0F == 16777216.0F);
  float sum = 0;
  for (int i = 0; i < 1000; ++i) sum = float_from_bfloat16(bfloat16_from(sum + 1));
  CHECK(sum == 256);  // 1000 ones
}
