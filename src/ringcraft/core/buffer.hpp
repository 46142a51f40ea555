#pragma once
/// @file
/// Buffer, the only owner of tensor memory: bytes, number type, extents and memory space. Everything else in
/// the library looks at buffers through views (matrix.hpp). Buffers count the bytes that a rank holds, so
/// that the memory claims of ring attention (one shard and two blocks in flight, never the whole sequence)
/// can be measured.

#include <atomic>
#include <cstddef>
#include <memory>
#include <span>
#include <utility>

#include "ringcraft/core/types.hpp"

namespace ringcraft {

/// Live and peak bytes of all buffers that were made under this meter. Safe to use from several threads.
class MemoryMeter {
 public:
  /// Records that `bytes` more (or, when negative, fewer) bytes are held.
  void add(Index bytes);
  /// Bytes held now.
  Index live() const { return live_; }
  /// Largest number of bytes held at one time so far.
  Index peak() const { return peak_; }

 private:
  std::atomic<Index> live_{0}, peak_{0};
};

/// While it lives, buffers made by this thread are counted by `meter`. Scopes nest; the inner one counts.
class MeterScope {
 public:
  /// Counts from here on.
  explicit MeterScope(std::shared_ptr<MemoryMeter> meter);
  ~MeterScope();
  MeterScope(const MeterScope&) = delete;
  MeterScope& operator=(const MeterScope&) = delete;

  /// The meter that counts allocations of this thread, or null.
  static const MemoryMeter* current();
  /// Puts another meter in its place, and returns it: for code that changes from one stack to another.
  static std::shared_ptr<MemoryMeter> exchange(std::shared_ptr<MemoryMeter> meter);

 private:
  std::shared_ptr<MemoryMeter> outer_;
};

/// How bytes of one memory space are obtained; one static instance per space and backend.
struct Memory {
  Space space;                                 ///< where the bytes live
  std::byte* (*allocate)(std::size_t bytes);   ///< Throws Error if there is not enough memory; bytes > 0.
  void (*release)(std::byte* bytes) noexcept;  ///< Frees memory from allocate.
};

/// Ordinary memory, aligned to 64 bytes. New bytes are all ones, which is NaN in every number type of the
/// library: elements that a computation forgets to write become visible.
const Memory& host_memory();

/// The one owner of tensor memory. Move-only. An empty Buffer (default constructed, or with a zero extent)
/// holds no memory.
class Buffer {
 public:
  Buffer() = default;
  /// A tensor of these extents. Throws Error if an extent is negative or the size does not fit the address
  /// space.
  Buffer(Extents extents, DType type, const Memory& memory = host_memory());
  /// A tensor in memory of another owner, to read: no copy, and no meter counts it. The buffer keeps `owner`
  /// alive. Functions that give its bytes or elements to write throw Error.
  static Buffer borrowed(Extents extents, DType type, const std::byte* bytes,
                         std::shared_ptr<const void> owner);
  /// A moved-from buffer is empty.
  Buffer(Buffer&& other) noexcept { *this = std::move(other); }
  Buffer& operator=(Buffer&& other) noexcept;

  /// [batch, heads, rows, width], rows as set_rows left them.
  const Extents& extents() const { return extents_; }
  /// The number type of the elements.
  DType dtype() const { return type_; }
  /// Where the bytes live.
  Space space() const { return memory_->space; }
  /// Whether there is no element.
  bool empty() const { return extents_.elements() == 0; }

  /// Shrinks or grows the rows within the rows that the buffer was made with; the tensor stays contiguous,
  /// its old contents lose their meaning. This is how one ring buffer serves shards of different lengths.
  /// Throws Error above the capacity.
  void set_rows(Index rows);

  /// The tensor's bytes, [batch, heads, rows, width] elements. Throws Error if they are borrowed.
  std::span<std::byte> bytes();
  /// The same, read-only.
  std::span<const std::byte> bytes() const;

  /// The tensor's elements on the host. Throws Error if T is not the stored type, or the bytes are on a
  /// device or borrowed.
  template <class T>
  std::span<T> values();
  /// The same, read-only.
  template <class T>
  std::span<const T> values() const;

  /// An independent buffer with the same contents (host only).
  Buffer clone() const;

 private:
  struct Release {  // frees the bytes and updates the meter
    Release() noexcept : memory(nullptr), size(0) {}
    Release(const Memory& from, std::shared_ptr<MemoryMeter> counted_by, Index bytes)
        : memory(&from), meter(std::move(counted_by)), size(bytes) {}
    const Memory* memory;
    std::shared_ptr<MemoryMeter> meter;
    Index size;
    std::shared_ptr<const void> owner = {};  // of borrowed bytes
    void operator()(std::byte* bytes) const noexcept;
  };

  void require(DType type) const;
  void require_own() const;

  Extents extents_;
  Index capacity_rows_ = 0;
  DType type_ = DType::kFloat32;
  const Memory* memory_ = &host_memory();
  std::unique_ptr<std::byte[], Release> bytes_;
};

/// Copies the elements of a host buffer into a new one of another number type; a narrower type rounds
/// once, to the nearest even.
Buffer converted(const Buffer& from, DType to);

/// bf16 is the upper half of a float32, so widening is exact.
float float_from_bfloat16(std::uint16_t bits);
/// Narrowing rounds to the nearest even; NaN stays NaN.
std::uint16_t bfloat16_from(double value);
/// float16 (IEEE 754 binary16: 5 bits of exponent, 10 of mantissa) widened; exact.
float float_from_float16(std::uint16_t bits);
/// Narrowing rounds to the nearest even, also among the subnormal numbers below 2^-14; 65520 and more become
/// infinite; NaN stays NaN.
std::uint16_t float16_from(double value);

}  // namespace ringcraft
