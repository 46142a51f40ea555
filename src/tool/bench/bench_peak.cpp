// Runs chains of independent multiply-adds. The build compiles this file with the library's flags.
#include "tool/bench/bench_peak.hpp"

#include "ringcraft/attention/fast/vector.hpp"

namespace ringcraft::tool {
namespace {

constexpr int kChains = kTileWide * kTileColumns;  // as many as the register kernel has sums
constexpr int kSteps = 1'000'000;

// The factors come from outside, so that the compiler cannot know the result.
[[gnu::noinline]] Vector<float> chains(Vector<float> factor, Vector<float> term) {
  Vector<float> sum[kChains];
#pragma GCC unroll 32
  for (int i = 0; i < kChains; ++i) sum[i] = term * static_cast<float>(i);
  for (int step = 0; step < kSteps; ++step)
#pragma GCC unroll 32
    for (int i = 0; i < kChains; ++i) sum[i] = sum[i] * factor + term;
#pragma GCC unroll 32
  for (int i = 1; i < kChains; ++i) sum[0] += sum[i];
  return sum[0];
}

}  // namespace

double peak_flop() { return 2.0 * kLanes<float> * kChains * kSteps; }

void run_peak() {
  volatile float factor = 0.999F, term = 0.001F;  // the sums tend to 1
  volatile float sink = chains(Vector<float>{} + factor, Vector<float>{} + term)[0];
  (void)sink;
}

}  // namespace ringcraft::tool
