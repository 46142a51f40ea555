#pragma once
/// @file
/// The two 16-bit number types that tensor cores multiply, as storage: no arithmetic is done in them. Own
/// types, so that a kernel's source needs no header of CUDA's and reads alike for a GPU and for the CPU.
/// Conversions round to nearest, ties to even; NaN becomes 0x7FFF on both.

#include <cstdint>

#ifndef __CUDACC__
#include <bit>
#include <cmath>
#endif

namespace ringcraft::kernels {

/// bfloat16: the upper half of a float32, 8 bits of exponent and 7 of mantissa.
struct Bf16 {
  std::uint16_t bits;  ///< as in memory
};
/// IEEE float16: 5 bits of exponent and 10 of mantissa; largest number 65504, smallest 2^-24.
struct Half {
  std::uint16_t bits;  ///< as in memory
};

/// A 16-bit number as float32, exactly.
__device__ inline float widened(Bf16 x);
/// The same.
__device__ inline float widened(Half x);

/// Two float32, rounded, in one register: `low` in the lower 16 bits, which come first in memory. T is Bf16
/// or Half.
template <class T>
__device__ unsigned packed(float low, float high);

/// A float32, rounded.
template <class T>
__device__ T narrowed(float x) {
  return {static_cast<std::uint16_t>(packed<T>(x, 0.0f) & 0xffffu)};
}

/// The two numbers of a register, as packed() has put them there.
template <class T>
__device__ float lower(unsigned two) {
  return widened(T{static_cast<std::uint16_t>(two & 0xffffu)});
}
/// The upper one.
template <class T>
__device__ float upper(unsigned two) {
  return widened(T{static_cast<std::uint16_t>(two >> 16)});
}

#ifdef __CUDACC__

__device__ inline float widened(Bf16 x) { return __uint_as_float(unsigned{x.bits} << 16); }
__device__ inline float widened(Half x) {
  float y;
  asm("cvt.f32.f16 %0, %1;" : "=f"(y) : "h"(x.bits));
  return y;
}

template <>
__device__ inline unsigned packed<Bf16>(float low, float high) {
  unsigned two;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(two) : "f"(high), "f"(low));
  return two;
}
template <>
__device__ inline unsigned packed<Half>(float low, float high) {
  unsigned two;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(two) : "f"(high), "f"(low));
  return two;
}

/// 2^x, to about 2 units of the last place; 2^-inf is 0. Results below 2^-126 are 0.
__device__ inline float exp2_fast(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

#else

inline float widened(Bf16 x) { return std::bit_cast<float>(std::uint32_t{x.bits} << 16); }
inline float widened(Half x) {
  const int exponent = x.bits >> 10 & 31, mantissa = x.bits & 1023;
  const float size = exponent == 31  ? (mantissa == 0 ? INFINITY : NAN)
                     : exponent == 0 ? std::ldexp(float(mantissa), -24)
                                     : std::ldexp(float(mantissa + 1024), exponent - 25);
  return x.bits >> 15 != 0 ? -size : size;
}

/// float32 to bfloat16 bits.
inline unsigned bf16_bits(float x) {
  if (x != x) return 0x7fff;
  const auto bits = std::bit_cast<std::uint32_t>(x);
  return (bits + 0x7fff + (bits >> 16 & 1)) >> 16;  // the carry of a full mantissa raises the exponent
}
/// float32 to float16 bits.
inline unsigned half_bits(float x) {
  if (x != x) return 0x7fff;
  const unsigned sign = std::signbit(x) ? 0x8000u : 0u;
  const float size = std::fabs(x);
  if (size >= 65520.0f) return sign | 0x7c00;  // halfway to the number after the largest, which is infinite
  if (size < 0x1p-14f)
    return sign | unsigned(std::nearbyint(size * 0x1p24f));  // no leading 1: units of 2^-24
  int exponent;
  const float mantissa = std::frexp(size, &exponent);              // in [1/2, 1)
  const auto rounded = unsigned(std::nearbyint(mantissa * 2048));  // 1024 to 2048: the carry works here, too
  return sign | ((unsigned(exponent + 14) << 10) + rounded - 1024);
}

template <>
inline unsigned packed<Bf16>(float low, float high) {
  return bf16_bits(low) | bf16_bits(high) << 16;
}
template <>
inline unsigned packed<Half>(float low, float high) {
  return half_bits(low) | half_bits(high) << 16;
}

inline float exp2_fast(float x) { return x < -126 ? 0.0f : std::exp2(x); }

#endif

}  // namespace ringcraft::kernels
