// How fast the forward kernels are, full and causal, head_dim 64 and 128 (2048 numbers per token). Figures:
// ms, and TFLOP/s, where a visible pair counts 4 * head_dim operations per head.
#include "checks.hpp"
#include "direct.hpp"
#include "timing.hpp"

namespace ringcraft::kernels {
namespace {

constexpr Index kModelWidth = 2048;

// A rung that stores the scores gets fewer tokens: 32 heads of 4096 are 2 GB.
Index tokens_for(const ForwardRung& rung) { return rung.workspace == nullptr ? 8192 : 4096; }

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
  return {"", {{"ms", ms}, {"TFLOP/s", operations / (1e9 * ms)}}};
}

}  // namespace

void time_kernels(Runner& runner) {
  for (const ForwardRung* rung : forward_rungs())
    for (const Index head_dim : {64, 128})
      for (const auto& [name, mask] : {std::pair{"full", full_mask()}, {"causal", causal_mask()}})
        if (head_dim <= rung->largest_head_dim)
          runner.check("time of " + std::to_string(rung->number) + " " + rung->name + ", " +
                           std::to_string(tokens_for(*rung)) + " tokens, head_dim " +
                           std::to_string(head_dim) + ", " + name,
                       [&] { return time_forward(*rung, head_dim, mask); });
}

}  // namespace ringcraft::kernels
