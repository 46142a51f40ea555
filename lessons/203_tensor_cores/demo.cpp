// Lesson 203: the lanes that hold a fragment's elements; the errors and the traffic of rungs 03 to 05.
#include <cmath>
#include <cstdio>

#include "engine/cuda_engine.hpp"
#include "host/checker/traffic.hpp"
#include "host/warp_matrix.hpp"
#include "verify/oracle/cases.hpp"

using namespace ringcraft;
using namespace ringcraft::kernels;
unsigned reg[32][12];  // [lane]: a tile of 16 x 16 as A, the same transposed, the unit matrix as A
float c[32][4];        // unit matrix times the left half of the tile
void load_fragments() {
  const int l = simt::this_lane(), row = l % 16 * 16 + l / 16 * 8;  // as rung 04 names rows
  auto* const tile = reinterpret_cast<std::uint16_t*>(simt::shared_memory());
  for (int i = l; i < 512; i += 32) tile[i] = bfloat16_from(i < 256 ? i : (i - 256) % 17 == 0);
  simt::sync_threads({"", 1});
  simt::load_matrices({tile + row, reg[l], 4, simt::Order::kRows, {"", 2}});
  simt::load_matrices({tile + row, reg[l] + 4, 4, simt::Order::kColumns, {"", 3}});
  simt::load_matrices({tile + 256 + row, reg[l] + 8, 4, simt::Order::kRows, {"", 4}});
  simt::multiply_matrices({reg[l] + 8, reg[l] + 4, c[l], float_from_bfloat16}, {"", 5});
}
double rms(const Buffer& got, const Buffer& want, double sum = 0) {
  for (std::size_t i = 0; i < want.values<double>().size(); ++i)
    sum += std::pow(got.values<float>()[i] - want.values<double>()[i], 2);
  return std::sqrt(sum / double(want.values<double>().size()));
}
int main() {
  simt::settings() = {.check = false};  // this file is not compiled for it
  simt::run({1, 32, 1024}, load_fragments);
  std::printf("lane by lane: 8 numbers of A, 4 of B from v, 4 of C; a number is 16 row + column\n");
  for (int l = 0; l < 32; ++l) {
    for (int i = 0; i < 12; ++i)
      std::printf("%g ", float_from_bfloat16(static_cast<std::uint16_t>(reg[l][i / 2] >> i % 2 * 16)));
    std::printf("%g %g %g %g\n", c[l][0], c[l][1], c[l][2], c[l][3]);
  }
  std::printf("\nrung out_error lse_error out_error_with_inputs shared_KB passes fewest mma\n");
  simt::settings() = {.count_traffic = true};
  const auto problem = make_problem({1, 1, 1, 128, 64}, {}, Layout::kContiguous, 1);
  const auto in = verify::make_inputs(verify::make_case(problem, {}, 1), DType::kFloat32);
  for (const ForwardRung* rung : {&kOnlineSoftmax, &kTensorCores, &kPipeline}) {
    CudaEngine engine(0, {.forward = rung});
    const verify::Inputs given = verify::converted(in, rung->dtype);
    const auto device = [&](const Buffer& host) { return copied_to_device(host, engine.stream()); };
    const Buffer q = device(given.q);
    RowState state = engine.begin(q);
    engine.forward(state, q, {device(given.k), device(given.v)}, key_ranges({}, 128), 0.125);
    std::size_t bytes = 0, passes = 0, fewest = 0, mma = 0;
    for (const auto& line : simt::last_traffic())
      if (mma += line.products; line.shared)
        bytes += line.bytes, passes += line.transfers, fewest += line.least_transfers;
    const Output done = engine.finish(std::move(state));
    const Buffer out = copied_to_host(done.out, engine.stream());
    const Buffer lse = copied_to_host(done.lse, engine.stream());
    const auto want = verify::oracle(problem, given).value, exact = verify::oracle(problem, in).value;
    std::printf("%d %.1e %.1e ", rung->number, rms(out, want.out), rms(lse, want.lse));
    std::printf("%.1e %zu %zu %zu %zu\n", rms(out, exact.out), bytes / 1024, passes, fewest, mma);
  }
}
