// Lesson 101: one query, and the memory wall: peaks with all scores, without, and on each rank of a ring.
#include <cmath>
#include <cstdio>
#include <numbers>

#include "ringcraft/attention/dense.hpp"
#include "ringcraft/attention/single_device.hpp"
#include "ringcraft/core/random.hpp"
#include "ringcraft/ring/theory.hpp"

using namespace ringcraft;

// softmax_scale is ln 2, so exp(score) is a power of two. Each weight is recomputed from its score and lse.
void one_query() {
  const std::vector<double> q{1, 2}, k{1, 0, 1, 1, 0, 0, 2, 0}, v{4, 1, 8, 2};
  double out = 0, lse = 0;
  dense_forward<double>({q, 1, 2}, {k, 4, 2}, {v, 4, 1}, {{0}, {4}}, std::numbers::ln2, {{&out, 1}, 1, 1},
                        {&lse, 1});
  std::printf("key q.k  weight value weight*value\n");
  for (std::size_t j = 0; j < 4; ++j) {
    const double dot = q[0] * k[2 * j] + q[1] * k[2 * j + 1];
    const double weight = std::exp(std::numbers::ln2 * dot - lse);
    std::printf("%3zu %3g %7.4f %5g %12.4f\n", j, dot, weight, v[j], weight * v[j]);
  }
  std::printf("\nout %.4f lse %.4f\n", out, lse);
}

// Peak bytes of one head of 64 numbers in float32, q, k and v included, as a meter counts them.
long measured_peak(Algorithm algorithm, Index tokens) {
  Random random(1);
  const Buffer numbers = random_normal({1, 1, tokens, 64}, DType::kFloat32, random);
  const auto meter = std::make_shared<MemoryMeter>();
  const MeterScope scope(meter);
  attention_forward(algorithm, numbers.clone(), {numbers.clone(), numbers.clone()},
                    key_ranges(causal_mask(), tokens), 0.125);
  return meter->peak();
}

// A layer: 32 heads of 128 numbers. GiB of a rank with these numbers in two bytes, accumulators in four.
Problem layer(Index tokens, int ranks) {
  return make_problem({1, 32, 32, tokens, 128}, causal_mask(), Layout::kContiguous, ranks);
}
double gib(const Theory& theory) { return static_cast<double>(theory.peak_bytes[0]) * 0x1p-30; }

int main() {
  one_query();
  std::printf("\ntokens dense_bytes blockwise_bytes\n");
  for (const Index tokens : {512, 1024, 2048})
    std::printf("%6ld %11ld %15ld\n", tokens, measured_peak(Algorithm::kDense, tokens),
                measured_peak(Algorithm::kBlockwise, tokens));
  std::printf("\n tokens one_score_matrix all_score_matrices forward backward of_8: forward backward\n");
  for (Index tokens = 8192; tokens <= 1 << 20; tokens *= 2) {
    const double scores = 2 * 0x1p-30 * static_cast<double>(tokens * tokens);
    std::printf("%7ld %16.3f %18.3f", tokens, scores, 32 * scores);
    for (const Problem& p : {layer(tokens, 1), layer(tokens, 8)})
      for (const Theory& pass : {forward_theory(p, {2, 4}), backward_theory(p, Schedule::kReversed, {2, 4})})
        std::printf(" %8.3f", gib(pass));
    std::printf("\n");
  }
}
