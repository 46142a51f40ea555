#pragma once
/// @file
/// Vector<T>: the registers of the processor that this build is for, as a type (the vector extension of GCC
/// and Clang), so that the fast kernels of lesson 108 are written once for SSE2, AVX2 and AVX-512. Arithmetic
/// works lane by lane; a number beside a vector stands for a vector full of it. For .cpp files: who includes
/// it may be compiled for another processor than the library.

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "ringcraft/core/types.hpp"

namespace ringcraft {

/// Bytes of a register.
inline constexpr int kRegisterBytes =
#if defined(__AVX512F__)
    64;
#elif defined(__AVX__)
    32;
#else
    16;
#endif

/// How many registers there are.
inline constexpr int kRegisters =
#if defined(__AVX512F__) || defined(__aarch64__)
    32;
#else
    16;
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

/// Width of the register kernel's tile, in registers. Of 32 registers 24 hold sums, 4 a row of the panel; of
/// 16, 12 and 2. One is left for a factor.
inline constexpr int kTileWide = kRegisters == 32 ? 4 : 2;
/// Height of the tile, in columns.
inline constexpr int kTileColumns = 6;

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
