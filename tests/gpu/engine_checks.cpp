// Checks CudaEngine around its kernels: memory, sums, refusals.
#include <cmath>
#include <limits>
#include <utility>

#include "checks.hpp"
#include "direct.hpp"

namespace ringcraft::kernels {
namespace {

Verdict new_memory_is_nan() {
  CudaEngine engine;
  for (const float x : numbers_of(engine.allocate({1, 2, 3, 4}, Role::kElement), engine.stream()))
    if (!std::isnan(x))
      return {"an element of new device memory is a number, so unwritten output could pass"};
  return {};
}

Verdict begin_is_identity() {
  CudaEngine engine;
  const RowState state = engine.begin(engine.allocate({2, 3, 70, 5}, Role::kElement));
  for (const float x : numbers_of(state.out, engine.stream()))
    if (!(x == 0)) return {"O is not 0"};
  for (const float x : numbers_of(state.max, engine.stream()))
    if (!(x == -std::numeric_limits<float>::infinity())) return {"m is not -inf"};
  for (const float x : numbers_of(state.sum, engine.stream()))
    if (!(x == 0)) return {"l is not 0"};
  return {};
}

Verdict sums_are_right() {
  CudaEngine engine;
  Small small(engine);
  const Buffer other = Small(engine, 4).q;
  const auto a = numbers_of(small.q, engine.stream()), b = numbers_of(other, engine.stream());
  const auto delta = numbers_of(engine.delta(small.q, other), engine.stream());
  for (std::size_t row = 0; row < delta.size(); ++row) {
    double want = 0, scale = 0;
    for (std::size_t i = 24 * row; i < 24 * (row + 1); ++i) {
      want += double{a[i]} * double{b[i]};
      scale += std::fabs(double{a[i]} * double{b[i]});
    }
    if (!(std::fabs(double{delta[row]} - want) <= 0x1p-20 * scale))
      return {"delta is wrong in row " + std::to_string(row)};
  }

  const auto k = numbers_of(small.kv.k, engine.stream());
  const KvBlock more = std::move(Small(engine, 5).kv);
  const auto more_k = numbers_of(more.k, engine.stream());
  engine.add(small.kv, more);
  const auto sum = numbers_of(small.kv.k, engine.stream());
  for (std::size_t i = 0; i < k.size(); ++i)
    if (!(sum[i] == k[i] + more_k[i])) return {"add is wrong in element " + std::to_string(i)};

  engine.set_zero(small.kv.v);
  for (const float x : numbers_of(small.kv.v, engine.stream()))
    if (!(x == 0)) return {"set_zero left a number"};
  return {};
}

Verdict refusals() {
  CudaEngine engine;
  const Small small(engine);
  const Problem good = make_problem({1, 4, 2, 130, 24}, causal_mask(), Layout::kContiguous, 1);
  for (const Pass pass : {Pass::kForward, Pass::kBackward})
    engine.refuse(good, pass);  // throws if a good problem is refused
  const Buffer on_host({1, 4, 130, 24}, DType::kFloat32);
  for (const std::string& sentence : {
           unless_refused("a host buffer", "a device buffer",
                          [&] {
                            RowState state = engine.begin(small.q);
                            engine.forward(state, on_host, small.kv, key_ranges(full_mask(), 130), 1);
                          }),
           unless_refused("device 4096", "CUDA device", [] { CudaEngine engine_4096(4096); }),
       })
    if (!sentence.empty()) return {sentence};
  return {};
}

}  // namespace

void run_engine_checks(Runner& runner) {
  runner.check("new device memory is NaN", new_memory_is_nan);
  runner.check("begin gives (0, -inf, 0)", begin_is_identity);
  runner.check("delta, add, set_zero", sums_are_right);
  runner.check("refusals of the engine", refusals);
}

}  // namespace ringcraft::kernels
