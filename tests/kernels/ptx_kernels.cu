// Small kernels around single instructions.
#include "engine/launch.cuh"
#include "engine/ptx.cuh"
#include "ptx_kernels.hpp"

namespace ringcraft::kernels {
namespace {

__device__ int thread() { return int(threadIdx.x); }
__device__ unsigned two(const std::uint16_t* low, const std::uint16_t* high) {
  return unsigned{*low} | unsigned{*high} << 16;
}

// One copy of the operands in shared memory, as 16-byte rows of 8 numbers.
__device__ void load_operands(const std::uint16_t* a, const std::uint16_t* b, std::uint16_t* smem) {
  for (int i = thread(); i < 256 + 128; i += 32) smem[i] = i < 256 ? a[i] : b[i - 256];
  __syncwarp();
}

template <class T, Fragments kFragments>
__global__ void product_kernel(const std::uint16_t* a, const std::uint16_t* b, float* c) {
  auto* const a_smem = dynamic_shared<std::uint16_t>();  // [16, 16]
  auto* const b_smem = a_smem + 256;                     // [16, 8] or [8, 16]
  load_operands(a, b, a_smem);

  const int g = thread() / 4, t = thread() % 4;
  unsigned a_reg[4], b_reg[2];
  if (kFragments == Fragments::kByHand) {
    for (int i = 0; i < 4; ++i) {
      const std::uint16_t* const at = a_smem + (g + 8 * (i % 2)) * 16 + 2 * t + 8 * (i / 2);
      a_reg[i] = two(at, at + 1);
    }
    for (int i = 0; i < 2; ++i) {
      const std::uint16_t* const at = b_smem + (2 * t + 8 * i) * 8 + g;
      b_reg[i] = two(at, at + 8);
    }
  } else {
    // Matrices 0 and 1 lie below each other, 2 and 3 beside them.
    ldmatrix_x4(a_reg, a_smem + thread() % 16 * 16 + thread() / 16 * 8);
    const int row = thread() % 8, matrix = thread() / 8 % 2;
    if (kFragments == Fragments::kLdmatrix)
      ldmatrix_x2(b_reg, b_smem + row * 16 + matrix * 8);
    else
      ldmatrix_x2_trans(b_reg, b_smem + (row + matrix * 8) * 8);
  }
  float c_reg[4] = {};
  mma_16x8x16<T>(c_reg, a_reg, b_reg[0], b_reg[1]);
  for (int i = 0; i < 4; ++i) c[(g + 8 * (i / 2)) * 8 + 2 * t + i % 2] = c_reg[i];
}

template <class T>
void product_of(Fragments fragments, const std::uint16_t* a, const std::uint16_t* b, float* c) {
  const auto kernel = fragments == Fragments::kByHand     ? product_kernel<T, Fragments::kByHand>
                      : fragments == Fragments::kLdmatrix ? product_kernel<T, Fragments::kLdmatrix>
                                                          : product_kernel<T, Fragments::kLdmatrixTrans>;
  launch(kernel, 1, 32, 384 * sizeof(std::uint16_t), nullptr, a, b, c);
}

template <class T>
__global__ void convert_kernel(const float* from, int count, std::uint16_t* to, float* back) {
  for (int i = 2 * (int(blockIdx.x * blockDim.x) + thread()); i < count;
       i += 2 * int(gridDim.x * blockDim.x)) {
    if (i + 1 == count) {
      const T x = narrowed<T>(from[i]);
      to[i] = x.bits;
      back[i] = widened(x);
      return;
    }
    const unsigned both = packed<T>(from[i], from[i + 1]);
    to[i] = std::uint16_t(both & 0xffffu);
    to[i + 1] = std::uint16_t(both >> 16);
    back[i] = lower<T>(both);
    back[i + 1] = upper<T>(both);
  }
}

__global__ void exponentials_kernel(const float* from, int count, float* to) {
  for (int i = thread(); i < count; i += int(blockDim.x)) to[i] = exp2_fast(from[i]);
}

template <Waiting kWaiting>
__global__ void copy_kernel(const float* from, int valid, float* to) {
  float* const half_smem[2] = {dynamic_shared<float>(), dynamic_shared<float>() + 64};
  for (int half = 0; half < 2; ++half) {
    if (thread() % 2 == 0) {
      const int i = 64 * half + 2 * thread();
      cp_async_16(half_smem[half] + 2 * thread(), from + i, i < valid);
    }
    if (kWaiting != Waiting::kUncommitted || half == 0) cp_async_commit();
  }
  for (int half = 0; half < 2; ++half) {
    if (half == 0 && kWaiting != Waiting::kNever) cp_async_wait<kWaiting == Waiting::kOneTooFew ? 2 : 1>();
    if (half == 1 && kWaiting != Waiting::kNever) cp_async_wait<kWaiting == Waiting::kOneTooFew ? 1 : 0>();
    __syncwarp();
    for (int i = thread(); i < 64; i += 32) to[64 * half + i] = half_smem[half][i];
  }
}

}  // namespace

void product(Format format, Fragments fragments, const std::uint16_t* a, const std::uint16_t* b, float* c) {
  format == Format::kBf16 ? product_of<Bf16>(fragments, a, b, c) : product_of<Half>(fragments, a, b, c);
}

void convert(Format format, const float* from, int count, std::uint16_t* to, float* back) {
  const auto kernel = format == Format::kBf16 ? convert_kernel<Bf16> : convert_kernel<Half>;
  launch(kernel, 4, 64, 0, nullptr, from, count, to, back);
}

void exponentials(const float* from, int count, float* to) {
  launch(exponentials_kernel, 1, 64, 0, nullptr, from, count, to);
}

void copy_asynchronously(Waiting waiting, const float* from, int valid, float* to) {
  const auto kernel = waiting == Waiting::kRight       ? copy_kernel<Waiting::kRight>
                      : waiting == Waiting::kNever     ? copy_kernel<Waiting::kNever>
                      : waiting == Waiting::kOneTooFew ? copy_kernel<Waiting::kOneTooFew>
                                                       : copy_kernel<Waiting::kUncommitted>;
  launch(kernel, 1, 32, 128 * sizeof(float), nullptr, from, valid, to);
}

}  // namespace ringcraft::kernels
