// Prints the time of kernels on the CPU, without judging it: a clock depends on the other load of the
// machine. Built twice, for plain kernels and for checked ones. The test judges only that the work was done.
#include <chrono>
#include <cstdio>

#include "engine/cuda_engine.hpp"
#include "host/checker/checker.hpp"
#include "ringcraft/core/random.hpp"
#include "support/catch.hpp"

using namespace ringcraft;
using namespace ringcraft::kernels;

TEST_CASE("the time of rung 03 against 512 keys is printed") {
  constexpr Index kTokens = 512, kHeadDim = 64, kTurns = 3;
  CudaEngine engine;
  Random random(1);
  const auto normal = [&] {
    return copied_to_device(random_normal({1, 1, kTokens, kHeadDim}, DType::kFloat32, random),
                            engine.stream());
  };
  const Buffer q = normal();
  const KvBlock kv{normal(), normal()};
  const KeyRanges ranges = key_ranges(full_mask(), kTokens);
  double best = 1e9;
  for (Index turn = 0; turn < kTurns; ++turn) {
    RowState state = engine.begin(q);
    const auto start = std::chrono::steady_clock::now();
    engine.forward(state, q, kv, ranges, 0.125);
    best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  const bool checked = simt::checks_launches();
  std::printf("rung 03, 512 queries against 512 keys, head_dim 64, %s: %.3f s\n",
              checked ? "checked" : "plain", best);
  CHECK(engine.work().pairs == kTurns * kTokens * kTokens);
}
