// Lesson 203: who holds which element of a fragment, as ldmatrix and mma themselves say; how far rungs 03 and
// 04 are from the oracle; what rungs 03, 04 and 05 move in shared memory. 128 queries and keys, head_dim 64.
#include <cmath>
#include <cstdio>

#include "engine/cuda_engine.hpp"
#include "engine/ptx.cuh"
#include "host/traffic.hpp"
#include "ringcraft/core/random.hpp"
#include "verify/oracle.hpp"

using namespace ringcraft;
using namespace ringcraft::kernels;

struct Held {  // by a lane: numbers 16 row + column of a tile of 16 x 16
  unsigned a[4], k[4], v[4];
  float c[4] = {};
} held[32];
void load_fragments() {  // addresses as in rung 04
  const int lane = simt::this_lane();
  Bf16 *const tile = reinterpret_cast<Bf16*>(simt::shared_memory()), *const identity = tile + 256;
  for (int i = 8 * lane; i < 8 * lane + 8; ++i)
    tile[i] = narrowed<Bf16>(float(i)), identity[i] = narrowed<Bf16>(i / 16 == i % 16 ? 1.0f : 0.0f);
  simt::sync_threads({__FILE__, __LINE__});
  Held& mine = held[lane];
  unsigned one[4];
  ldmatrix_x4(mine.a, tile + lane % 16 * 16 + lane / 16 * 8);
  ldmatrix_x4(mine.k, tile + (lane / 16 * 8 + lane % 8) * 16 + lane / 8 % 2 * 8);
  ldmatrix_x4_trans(mine.v, tile + lane % 16 * 16 + lane / 16 * 8);
  ldmatrix_x4(one, identity + lane % 16 * 16 + lane / 16 * 8);
  mma_16x8x16<Bf16>(mine.c, one, mine.v[0], mine.v[1]);
}
void print(float number) { std::printf(" %d:%d", int(number) / 16, int(number) % 16); }
double rms(std::span<const double> want, const Buffer& got) {
  double sum = 0;
  for (std::size_t i = 0; i < want.size(); ++i) sum += std::pow(got.values<float>()[i] - want[i], 2);
  return std::sqrt(sum / double(want.size()));
}
int main() {
  simt::run({1, 32, 1024}, load_fragments);
  std::printf("lane a0 a1 a2 a3 k0 k1 v0 v1 c0 c1 c2 c3: row and column of each number, two in a register\n");
  for (int lane = 0; lane < 32; ++lane) {
    const Held& h = held[lane];
    std::printf("%d", lane);
    for (unsigned r : {h.a[0], h.a[1], h.a[2], h.a[3], h.k[0], h.k[1], h.v[0], h.v[1]})
      print(lower<Bf16>(r)), print(upper<Bf16>(r));
    for (float c : h.c) print(c);
    std::printf("\n");
  }
  constexpr Index kSize = 128;
  Random random(1);
  const auto rows = [&] { return random_normal({1, 1, kSize, 64}, DType::kFloat32, random); };
  const verify::Inputs in{rows(), rows(), rows(), {}}, rounded = verify::converted(in, DType::kBFloat16);
  verify::BlockProblem problem{.head_dim = 64, .softmax_scale = 0.125};
  for (Index i = 0; i < kSize; ++i) problem.queries.push_back(i), problem.keys.push_back(i);
  const verify::Oracle whole = verify::oracle(problem, in), of_rounded = verify::oracle(problem, rounded);
  std::printf("\nrung bf16_in out_from_given lse_from_given out_from_unrounded shared_KB passes fewest mma\n");
  for (const auto& [rung, given] : {std::pair{&kOnlineSoftmax, &in}, {&kTensorCores, &rounded}, {&kPipeline, &rounded}}) {
    CudaEngine engine(0, {.forward = rung});
    const auto device = [&](const Buffer& host) { return copied_to_device(host, engine.stream()); };
    const Buffer q = device(given->q);
    RowState state = engine.begin(q);
    simt::settings().count_traffic = true;
    engine.forward(state, q, {device(given->k), device(given->v)}, key_ranges({}, kSize), 0.125);
    simt::LineTraffic sum;
    for (const simt::LineTraffic& line : simt::last_traffic()) {
      sum.products += line.products;
      if (line.shared) sum.bytes += line.bytes, sum.transfers += line.transfers, sum.least_transfers += line.least_transfers;
    }
    const Output output = engine.finish(std::move(state));
    const Buffer out = copied_to_host(output.out, engine.stream()), lse = copied_to_host(output.lse, engine.stream());
    const verify::Answer& want = (given == &in ? whole : of_rounded).value;
    std::printf("%d %d %.2e %.2e %.2e %zu %zu %zu %zu\n", rung->number, int(given != &in), rms(want.out.values<double>(), out), rms(want.lse.values<double>(), lse), rms(whole.value.out.values<double>(), out), sum.bytes / 1024, sum.transfers, sum.least_transfers, sum.products);
  }
}
