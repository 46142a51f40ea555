#pragma once
/// @file
/// Vector<T>: the registers of the processor that this build is for, as a type (the vector extension of GCC
/// and Clang), so that the fast kernels of lesson 108 are written once for SSE2, AVX2 and AVX-512. Arithmetic
/// works lane by lane; a number beside a vector stands for a vector full of it. Include it in .cpp files
/// only.

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "ringcraft/core/types.hpp"

namespace ringcraft {

#if defined(__AVX512F__)
/// Bytes of a register, and how many registers there are.
inline constexpr int kRegisterBytes = 64, kRegisters = 32;
#elif defined(__AVX__)
inline constexpr int kRegisterBytes = 32, kRegisters = 16;
#elif defined(__aarch64__)
inline constexpr int kRegisterBytes = 16, kRegisters = 32;
#else
inline constexpr int kRegisterBytes = 16, kRegisters = 16;
#endif

/// The vector type of float or double, and that of integers of the same size.
template <class T>
struct VectorType {
  /// kRegisterBytes / sizeof(T) numbers.
  using Numbers [[gnu::vector_size(kRegisterBytes)]] = T;
  /// As many integers; a comparison gives -1 for true and 0 for false.
  using Integers [[gnu::vector_size(kRegisterBytes)]] =
      std::conditional_t<sizeof(T) == 4, std::int32_t, std::int64_t>;
};

/// One register full of T.
template <class T>
using Vector = typename VectorType<T>::Numbers;

/// Numbers in a register.
template <class T>
inline constexpr int kLanes = kRegisterBytes / static_cast<int>(sizeof(T));

/// The tile of the register kernel: so many registers wide and so many columns high. With 32 registers 24
/// hold sums, 4 a row of the panel; with 16, 12 hold sums and 2 the row. One is left for a factor.
inline constexpr int kTileWide = kRegisters == 32 ? 4 : 2, kTileColumns = 6;

/// Columns of a panel (see panels.hpp): one tile.
template <class T>
inline constexpr Index kPanelWidth = kTileWide* kLanes<T>;

/// The numbers at p; p need not be aligned.
template <class T>
[[gnu::always_inline]] inline Vector<T> load(const T* p) {
  Vector<T> x;
  std::memcpy(&x, p, sizeof(x));
  return x;
}

/// Writes the numbers to p.
template <class T>
[[gnu::always_inline]] inline void store(T* p, Vector<T> x) {
  std::memcpy(p, &x, sizeof(x));
}

}  // namespace ringcraft
