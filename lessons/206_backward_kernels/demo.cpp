// Lesson 206: the traffic of the four backward rungs for 64 rows and 192 keys of two query heads that share a
// KV head, and the gradients whose bits change when thread blocks run in another order.
#include <cstdio>

#include "engine/cuda_engine.hpp"
#include "host/checker/traffic.hpp"
#include "host/executor.hpp"
#include "ringcraft/core/random.hpp"

using namespace ringcraft;
using namespace ringcraft::kernels;
constexpr int kRows = 64, kKeys = 192;
const KeyRanges all{std::vector<int>(kRows, 0), std::vector<int>(kRows, kKeys)};
// dq, dk and dv. Two launches set dk and dv to zero before those of the rung.
std::vector<std::vector<float>> gradients(const BackwardRung& rung, const simt::Settings& settings) {
  simt::settings() = {.check = false};
  CudaEngine engine(0, with_forward(rung));
  Random random(1);
  const auto tensor = [&](int heads, int rows) {
    return copied_to_device(random_normal({1, heads, rows, 64}, rung.dtype, random), engine.stream());
  };
  const Buffer q = tensor(2, kRows), dout = tensor(2, kRows);
  const KvBlock kv{tensor(1, kKeys), tensor(1, kKeys)};
  RowState state = engine.begin(q);
  engine.forward(state, q, kv, all, 0.125);
  const Output output = engine.finish(std::move(state));
  const Buffer delta = engine.delta(output.out, dout);
  const auto like = [&](const Buffer& x) { return engine.allocate(x.extents(), Role::kAccumulator); };
  Buffer dq = like(q);
  KvBlock part{like(kv.k), like(kv.v)};
  engine.set_zero(dq);
  simt::settings() = settings;
  engine.backward(dq, part, {q, output.out, output.lse, dout, delta}, kv, all, 0.125);
  std::vector<std::vector<float>> numbers;
  for (const Buffer* gradient : {&dq, &part.k, &part.v}) {
    const Buffer host = copied_to_host(*gradient, engine.stream());
    numbers.emplace_back(host.values<float>().begin(), host.values<float>().end());
  }
  return numbers;
}
int main() {
  std::printf("rung kernel read_KB written_KB shared_KB mma\n");
  for (const BackwardRung* rung : backward_rungs())
    for (int kernel = 1; kernel <= (rung == &kNaiveBackward ? 3 : rung->deterministic ? 2 : 1); ++kernel) {
      gradients(*rung, {.check = false, .count_traffic = true, .launches = 2 + kernel});
      double kb[3] = {}, mma = 0;  // read, written, and in shared memory
      for (const simt::LineTraffic& line : simt::last_traffic())
        mma += double(line.products), kb[line.shared ? 2 : line.writes] += double(line.bytes) / 1024;
      std::printf("%d %d %.0f %.0f %.0f %.0f\n", rung->number, kernel, kb[0], kb[1], kb[2], mma);
    }
  std::printf("\nbits of two runs: rung dq dk dv\n");
  for (const BackwardRung* rung : backward_rungs()) {
    const auto once = gradients(*rung, {.workers = 1, .check = false, .block_seed = 1});
    const auto again = gradients(*rung, {.workers = 1, .check = false, .block_seed = 2});
    std::printf("%d", rung->number);
    for (int i = 0; i < 3; ++i) std::printf(once[i] == again[i] ? " same" : " other");
    std::printf("\n");
  }
}
