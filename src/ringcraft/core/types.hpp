#pragma once
/// @file
/// The small words that every other header uses: number types, memory spaces, and the extents of a tensor.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace ringcraft {

/// Counts and indices of elements; signed, so that differences are safe.
using Index = std::int64_t;

/// How a number is stored. The half types are storage only: no arithmetic of the library is done in them.
enum class DType : std::uint8_t { kFloat32, kFloat64, kBFloat16, kFloat16 };

/// Whether the type has 16 bits; tensors of it are widened to float32 before anything is computed.
constexpr bool is_half(DType type) { return type == DType::kBFloat16 || type == DType::kFloat16; }

/// Bytes of one element.
constexpr std::size_t size_of(DType type) {
  switch (type) {
    case DType::kFloat64:
      return 8;
    case DType::kFloat32:
      return 4;
    case DType::kBFloat16:
    case DType::kFloat16:
      return 2;
  }
  return 0;
}

/// The name as the command line spells it: "float32", "float64", "bfloat16", "float16".
constexpr std::string_view name_of(DType type) {
  switch (type) {
    case DType::kFloat64:
      return "float64";
    case DType::kFloat32:
      return "float32";
    case DType::kBFloat16:
      return "bfloat16";
    case DType::kFloat16:
      return "float16";
  }
  return "?";
}

/// The storage type of a C++ number; defined for float and double.
template <class T>
constexpr DType dtype_of();
/// float32
template <>
constexpr DType dtype_of<float>() {
  return DType::kFloat32;
}
/// float64
template <>
constexpr DType dtype_of<double>() {
  return DType::kFloat64;
}

/// Where bytes live: in ordinary memory or in the memory of a GPU.
enum class Space : std::uint8_t { kHost, kDevice };

/// The extents of a tensor [batch, heads, rows, width], row-major and contiguous. rows counts tokens; width
/// is head_dim, or 1 for a number per row (lse, max, sum, delta).
struct Extents {
  Index batch = 0;  ///< sequences side by side
  Index heads = 0;  ///< heads, or kv_heads
  Index rows = 0;   ///< tokens
  Index width = 0;  ///< numbers of one token in one head

  /// Number of elements.
  Index elements() const { return batch * heads * rows * width; }
  friend bool operator==(const Extents&, const Extents&) = default;
};

/// "[1, 8, 97, 16]".
std::string described(const Extents& extents);

}  // namespace ringcraft
