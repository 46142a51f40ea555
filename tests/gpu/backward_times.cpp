// How fast the backward kernels are, full and causal, head_dim 64 and 128 (2048 numbers per token). Figures:
// ms, and TFLOP/s, where a visible pair counts 10 * head_dim operations per head, however often a rung
// computes its scores.
#include "checks.hpp"
#include "direct.hpp"
#include "timing.hpp"

namespace ringcraft::kernels {
namespace {

Verdict time_backward(const BackwardRung& rung, Index head_dim, const Mask& mask) {
  CudaEngine engine(0, with_forward(rung));
  Random random(1);
  const Extents extents{1, kModelWidth / head_dim, tokens_for(rung), head_dim};
  const auto normal = [&] { return normal_on_device(extents, rung.dtype, random, engine.stream()); };
  const Buffer q = normal(), dout = normal();
  const KvBlock kv{normal(), normal()};
  const KeyRanges ranges = key_ranges(mask, extents.rows);
  RowState state = engine.begin(q);
  engine.forward(state, q, kv, ranges, 0.1);
  const Output output = engine.finish(std::move(state));
  const Buffer delta = engine.delta(output.out, dout);
  const auto gradient = [&] { return engine.allocate(extents, Role::kAccumulator); };
  Buffer dq = gradient();
  engine.set_zero(dq);
  KvBlock part{gradient(), gradient()};
  const double ms = median_milliseconds(engine.stream(), [&] {
    engine.backward(dq, part, {q, output.out, output.lse, dout, delta}, kv, ranges, 0.1);
  });
  const double operations = 10.0 * kModelWidth * static_cast<double>(ranges.pairs());
  return timed(ms, operations);
}

}  // namespace

void time_kernels(Runner& runner) { time_rungs(runner, backward_rungs(), time_backward); }

}  // namespace ringcraft::kernels
