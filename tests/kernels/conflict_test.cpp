// Counts the bank conflicts of the rungs on tensor cores, and their products.
#include <string>

#include "engine/cuda_engine.hpp"
#include "host/checker/traffic.hpp"
#include "host/executor.hpp"
#include "ringcraft/core/random.hpp"
#include "support/catch.hpp"

using namespace ringcraft;
using namespace ringcraft::kernels;

namespace {

constexpr Index kQueries = 128, kBlockKeys = 192;

// The conflicts of one step, line by line: two tiles of rows, three of keys. For a backward step, those of
// its last kernel.
std::vector<simt::LineTraffic> traffic(CudaRungs rungs, Index head_dim, Pass pass) {
  CudaEngine engine(0, rungs);
  Random random(8);
  const auto element = [&](Index rows) {
    return copied_to_device(random_normal({1, 1, rows, head_dim}, engine.dtype(Role::kElement), random),
                            engine.stream());
  };
  const auto accumulator = [&](Index rows) {
    return engine.allocate({1, 1, rows, head_dim}, Role::kAccumulator);
  };
  const Buffer q = element(kQueries), dout = element(kQueries);
  const KvBlock kv{element(kBlockKeys), element(kBlockKeys)};
  RowState state = engine.begin(q);
  const KeyRanges all{std::vector<int>(kQueries, 0), std::vector<int>(kQueries, int{kBlockKeys})};
  simt::settings().count_traffic = true;
  engine.forward(state, q, kv, all, 0.1);
  if (pass == Pass::kBackward) {
    const Output output = engine.finish(std::move(state));
    const Buffer delta = engine.delta(output.out, dout);
    Buffer dq = accumulator(kQueries);
    engine.set_zero(dq);
    KvBlock part{accumulator(kBlockKeys), accumulator(kBlockKeys)};
    engine.backward(dq, part, {q, output.out, output.lse, dout, delta}, kv, all, 0.1);
  }
  simt::settings() = {};
  return simt::last_traffic();
}

// The same in shared memory.
std::vector<simt::LineTraffic> shared_traffic(CudaRungs rungs, Index head_dim, Pass pass) {
  std::vector<simt::LineTraffic> lines = traffic(rungs, head_dim, pass);
  std::erase_if(lines, [](const simt::LineTraffic& line) { return !line.shared; });
  return lines;
}

}  // namespace

TEST_CASE("an unswizzled tile costs ldmatrix eight passes, a swizzled one a single one") {
  for (const Index head_dim : {64, 128})
    for (const auto& [rung, passes] : {std::pair{&kTensorCores, 8u}, {&kPipeline, 1u}}) {
      int lines = 0;
      for (const simt::LineTraffic& line : shared_traffic({.forward = rung}, head_dim, Pass::kForward)) {
        INFO(rung->name << ", head_dim " << head_dim << ", " << line.place.line
                        << (line.writes ? " writes" : " reads"));
        const bool matrices = !line.writes;
        CHECK(line.least_transfers > 0);
        CHECK(line.transfers == (matrices ? passes : 1) * line.least_transfers);
        lines += matrices ? 1 : 0;
      }
      CHECK(lines == 3);  // q, K and V
    }
}

TEST_CASE("no access of the backward rungs on tensor cores to shared memory meets a bank twice") {
  for (const Index head_dim : {64, 128})
    for (const BackwardRung* rung : {&kTensorCoresBackward, &kFusedBackward}) {
      int reads = 0, writes = 0;
      for (const simt::LineTraffic& line : shared_traffic(with_forward(*rung), head_dim, Pass::kBackward)) {
        INFO(rung->name << ", head_dim " << head_dim << ", " << line.place.line
                        << (line.writes ? " writes" : " reads"));
        CHECK(line.least_transfers > 0);
        CHECK(line.transfers == line.least_transfers);
        ++(line.writes ? writes : reads);
      }
      const bool through_shared = rung == &kFusedBackward;  // dS
      CHECK(reads == (through_shared ? 4 : 3));
      CHECK(writes == (through_shared ? 2 : 1));
    }
}

TEST_CASE("the rungs on tensor cores make as many mma as the multiply-adds of their products take") {
  for (const Index head_dim : {64, 128})
    for (const ForwardRung* rung : {&kOnlineSoftmax, &kTensorCores, &kPipeline}) {
      INFO(rung->name << ", head_dim " << head_dim);
      std::size_t products = 0;
      for (const simt::LineTraffic& line : traffic({.forward = rung}, head_dim, Pass::kForward))
        products += line.products;
      const bool tensor_cores = rung != &kOnlineSoftmax;
      CHECK(Index(products) == (tensor_cores ? 2 * kQueries * kBlockKeys * head_dim / (16 * 8 * 16) : 0));
    }
}

TEST_CASE(
    "rung 05 copies by cp.async alone and multiplies two tiles of three while the next one is under way") {
  for (const auto& [rung, tiles_ahead] : {std::pair{&kTensorCores, 0u}, {&kPipeline, 2u}}) {
    INFO(rung->name);
    std::size_t written = 0, copied = 0, products = 0, ahead = 0;
    shared_traffic({.forward = rung}, 64, Pass::kForward);
    for (const simt::LineTraffic& line : simt::last_traffic()) {
      written += line.shared && line.writes ? line.bytes : 0;
      copied += line.copied;
      products += line.products;
      ahead += line.products_ahead;
    }
    CHECK(written > 0);
    CHECK(copied == (tiles_ahead > 0 ? written : 0));
    CHECK(products > 0);
    CHECK(ahead * 3 == products * tiles_ahead);
  }
}
