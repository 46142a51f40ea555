// How fast the forward kernels are, full and causal, head_dim 64 and 128 (2048 numbers per token). Figures:
// ms, and TFLOP/s, where a visible pair counts 4 * head_dim operations per head.
#include "checks.hpp"
#include "direct.hpp"
#include "timing.hpp"

namespace ringcraft::kernels {
namespace {

Verdict time_forward(const ForwardRung& rung, Index head_dim, const Mask& mask) {
  CudaEngine engine(0, {.forward = &rung});
  Random random(1);
  const Extents extents{1, kModelWidth / head_dim, tokens_for(rung), head_dim};
  const auto normal = [&] { return normal_on_device(extents, rung.dtype, random, engine.stream()); };
  const Buffer q = normal();
  const KvBlock kv{normal(), normal()};
  const KeyRanges ranges = key_ranges(mask, extents.rows);
  RowState state = engine.begin(q);
  const double ms = median_milliseconds(engine.stream(), [&] { engine.forward(state, q, kv, ranges, 0.1); });
  const double operations = 4.0 * kModelWidth * static_cast<double>(ranges.pairs());
  return timed(ms, operations);
}

}  // namespace

void time_kernels(Runner& runner) { time_rungs(runner, forward_rungs(), time_forward); }

}  // namespace ringcraft::kernels
