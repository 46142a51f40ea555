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

/// The registers of a processor.
struct Registers {
  int bytes;  ///< of one
  int count;  ///< how many there are
};

/// Those of the processor that this build is for.
constexpr Registers registers() {
#if defined(__AVX512F__)
  return {64, 32};
#elif defined(__AVX__)
  return {32, 16};
#elif defined(__aarch64__)
  return {16, 32};
#else
  return {16, 16};
#endif
}

/// Bytes of a register.
inline constexpr int kRegisterBytes = registers().bytes;
/// How many registers there are.
inline constexpr int kRegisters = registers().count;

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

/// Width of the register kernel's tile, in registers. With 32 registers 24 hold sums, 4 a row of the panel;
/// with 16, 12 hold sums and 2 the row. One is left for a factor.
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
