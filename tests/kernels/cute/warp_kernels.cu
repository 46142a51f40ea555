// Small kernels that show layouts.
#include "engine/launch.cuh"
#include "engine/warp_tiles.cuh"
#include "swizzle_places.cuh"
#include "warp_kernels.hpp"

namespace ringcraft::layouts {
namespace {

using namespace kernels;

template <class T>
__global__ void product_kernel(Product* products, int count) {
  for (Product* p = products; p < products + count; ++p) {
    const float* const a = p->a[lane()];
    const float* const b = p->b[lane()];
    const unsigned a_reg[4] = {packed<T>(a[0], a[1]), packed<T>(a[2], a[3]), packed<T>(a[4], a[5]),
                               packed<T>(a[6], a[7])};
    mma_16x8x16<T>(p->c[lane()], a_reg, packed<T>(b[0], b[1]), packed<T>(b[2], b[3]));
  }
}

template <Load kLoad>
__global__ void load_kernel(const std::uint16_t* rows_gmem, const int* row_of_lane, std::uint16_t* to) {
  auto* const rows_smem = dynamic_shared<std::uint16_t>();  // [32, 8]
  for (int i = 0; i < 8; ++i) rows_smem[8 * lane() + i] = rows_gmem[8 * lane() + i];
  __syncwarp();
  const auto* const row_smem = rows_smem + 8 * row_of_lane[lane()];
  constexpr int kRegisters = kLoad == Load::kX4 || kLoad == Load::kX4Trans ? 4 : 2;
  unsigned reg[kRegisters];
  if constexpr (kLoad == Load::kX4) ldmatrix_x4(reg, row_smem);
  if constexpr (kLoad == Load::kX4Trans) ldmatrix_x4_trans(reg, row_smem);
  if constexpr (kLoad == Load::kX2) ldmatrix_x2(reg, row_smem);
  if constexpr (kLoad == Load::kX2Trans) ldmatrix_x2_trans(reg, row_smem);
  for (int i = 0; i < 2 * kRegisters; ++i)
    to[2 * kRegisters * lane() + i] = std::uint16_t(reg[i / 2] >> 16 * (i % 2) & 0xffffu);
}

__global__ void copy_kernel(const std::uint8_t* from, bool valid, std::uint8_t* to) {
  auto* const pieces_smem = dynamic_shared<std::uint8_t>();  // [32, 16]
  std::uint8_t* const piece_smem = pieces_smem + 16 * ((5 * lane() + 3) % 32);
  cp_async_16(piece_smem, from + 16 * lane(), valid);
  cp_async_commit();
  cp_async_wait<0>();
  for (int i = 0; i < 16; ++i) to[16 * lane() + i] = piece_smem[i];
}

__global__ void accumulator_kernel(int accumulators, Place* places) {
  Place* const mine = places + int(threadIdx.x) * 4 * accumulators;
  for (int j = 0; j < accumulators; ++j)
    for (int i = 0; i < kLaneRows; ++i)
      for (int c = 0; c < 2; ++c) mine[4 * j + 2 * i + c] = {tile_row(i), tile_column(j, c)};
}

void end_of_kernel() { RINGCRAFT_CUDA(cudaStreamSynchronize(nullptr)); }

}  // namespace

void multiply(Format format, std::vector<Product>& products) {
  const auto kernel = format == Format::kBf16 ? product_kernel<Bf16> : product_kernel<Half>;
  launch(kernel, 1, 32, 0, nullptr, products.data(), int(products.size()));
  end_of_kernel();
}

std::vector<std::uint16_t> load(Load load, const std::vector<std::uint16_t>& rows,
                                const std::vector<int>& row_of_lane) {
  const bool four = load == Load::kX4 || load == Load::kX4Trans;
  std::vector<std::uint16_t> to(four ? 256 : 128);
  const auto kernel = load == Load::kX4        ? load_kernel<Load::kX4>
                      : load == Load::kX4Trans ? load_kernel<Load::kX4Trans>
                      : load == Load::kX2      ? load_kernel<Load::kX2>
                                               : load_kernel<Load::kX2Trans>;
  launch(kernel, 1, 32, 32 * 8 * sizeof(std::uint16_t), nullptr, rows.data(), row_of_lane.data(), to.data());
  end_of_kernel();
  return to;
}

std::vector<std::uint8_t> copy(const std::vector<std::uint8_t>& from, bool valid) {
  std::vector<std::uint8_t> to(32 * 16);
  launch(copy_kernel, 1, 32, 32 * 16, nullptr, from.data(), valid, to.data());
  end_of_kernel();
  return to;
}

LaneMap accumulator_places(int accumulators) {
  LaneMap map{"tile_row, tile_column", kThreads, 4 * accumulators};
  map.places.assign(static_cast<std::size_t>(map.lanes * map.values), kNowhere);
  launch(accumulator_kernel, 1, kThreads, 0, nullptr, accumulators, map.places.data());
  end_of_kernel();
  return map;
}

std::vector<int> swizzled_places(int head_dim, int rows) {
  return head_dim == 64 ? places_in<64>(SwizzledTile<64>{}, rows) : places_in<128>(SwizzledTile<128>{}, rows);
}

}  // namespace ringcraft::layouts
