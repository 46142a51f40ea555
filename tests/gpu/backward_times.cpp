// How fast the backward kernels are, full and causal, head_dim 64 and 128 (2048 numbers per token). Figures:
// ms, and TFLOP/s, where a visible pair counts 10 * head_dim operations per head, however often a rung
// computes its scores.
#include "checks.hpp"
#include "direct.hpp"
#include "timing.hpp"

namespace ringcraft::kernels {
namespace {

constexpr Index kModelWidth = 2048;

// A rung that stores P and dS gets fewer tokens: twice 32 heads of 4096 are 4 GB.
Index tokens_for(const BackwardRung& rung) { return rung.workspace == nullptr ? 8192 : 4096; }

Verdict time_backward(const BackwardRung& rung, Index head_dim, const Mask& mask) {
  CudaEngine engine(0, {.backward = &rung});
  Random random(1);
  const Extents extents{1, kModelWidth / head_dim, tokens_for(rung), head_dim};
  const auto normal = [&] { return normal_on_device(extents, DType::kFloat32, random, engine.stream()); };
  const Buffer q = normal(), dout = normal();
  const KvBlock kv{normal(), normal()};
  const KeyRanges ranges = key_ranges(mask, extents.rows);
  RowState state = engine.begin(q);
  engine.forward(state, q, kv, ranges, 0.1);
  const Output output = engine.finish(std::move(state));
  const Buffer delta = engine.delta(output.out, dout);
  Buffer dq = normal();
  KvBlock part{normal(), normal()};
  const double ms = median_milliseconds(engine.stream(), [&] {
    engine.backward(dq, part, {q, output.out, output.lse, dout, delta}, kv, ranges, 0.1);
  });
  const double operations = 10.0 * kModelWidth * static_cast<double>(ranges.pairs());
  return {"", {{"ms", ms}, {"TFLOP/s", operations / (1e9 * ms)}}};
}

}  // namespace

void time_kernels(Runner& runner) {
  for (const BackwardRung* rung : backward_rungs())
    for (const Index head_dim : {64, 128})
      for (const auto& [name, mask] : {std::pair{"full", full_mask()}, {"causal", causal_mask()}})
        if (head_dim <= rung->largest_head_dim)
          runner.check("time of " + std::to_string(rung->number) + " " + rung->name + ", " +
                           std::to_string(tokens_for(*rung)) + " tokens, head_dim " +
                           std::to_string(head_dim) + ", " + name,
                       [&] { return time_backward(*rung, head_dim, mask); });
}

}  // namespace ringcraft::kernels
