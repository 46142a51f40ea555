// Implements the owner of tensor memory: allocation with a meter, checked access, conversion between types.
#include "ringcraft/core/buffer.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <string>
#include <utility>

#include "ringcraft/core/error.hpp"

namespace ringcraft {
namespace {

thread_local std::shared_ptr<MemoryMeter> current_meter;

constexpr std::size_t kAlignment = 64;  // a cache line, and the widest vector register

std::byte* allocate_host(std::size_t bytes) {
  const std::size_t rounded = (bytes + kAlignment - 1) / kAlignment * kAlignment;
  auto* memory = static_cast<std::byte*>(std::aligned_alloc(kAlignment, rounded));
  if (memory == nullptr)
    throw Error("out of memory: " + std::to_string(bytes) +
                    " bytes for one tensor; try a shorter sequence or more ranks",
                Code::kMissing);
  std::memset(memory, 0xFF, rounded);
  return memory;
}

void release_host(std::byte* bytes) noexcept { std::free(bytes); }

// Size in bytes, or an Error if it is no size at all.
Index checked_bytes(const Extents& e, DType type) {
  Index bytes = static_cast<Index>(size_of(type));
  for (const Index extent : {e.batch, e.heads, e.rows, e.width}) {
    if (extent < 0 || (extent > 0 && bytes > std::numeric_limits<Index>::max() / extent))
      throw Error("tensor", "extents that are not negative and fit into memory", described(e),
                  "check the shape");
    bytes *= extent;
  }
  return bytes;
}

}  // namespace

std::string described(const Extents& e) {
  return std::string("[") + std::to_string(e.batch) + ", " + std::to_string(e.heads) + ", " +
         std::to_string(e.rows) + ", " + std::to_string(e.width) + "]";
}

void MemoryMeter::add(Index bytes) {
  const Index live = live_ += bytes;
  Index peak = peak_;
  while (live > peak && !peak_.compare_exchange_weak(peak, live)) {
  }
}

MeterScope::MeterScope(std::shared_ptr<MemoryMeter> meter)
    : outer_(std::exchange(current_meter, std::move(meter))) {}
MeterScope::~MeterScope() { current_meter = std::move(outer_); }
const MemoryMeter* MeterScope::current() { return current_meter.get(); }
std::shared_ptr<MemoryMeter> MeterScope::exchange(std::shared_ptr<MemoryMeter> meter) {
  return std::exchange(current_meter, std::move(meter));
}

const Memory& host_memory() {
  static const Memory memory{Space::kHost, allocate_host, release_host};
  return memory;
}

Buffer::Buffer(Extents extents, DType type, const Memory& memory)
    : extents_(extents), capacity_rows_(extents.rows), type_(type), memory_(&memory) {
  const Index bytes = checked_bytes(extents, type);
  if (bytes == 0) return;
  bytes_ = {memory.allocate(static_cast<std::size_t>(bytes)), Release(memory, current_meter, bytes)};
  if (current_meter) current_meter->add(bytes);
}

Buffer Buffer::borrowed(Extents extents, DType type, const std::byte* bytes,
                        std::shared_ptr<const void> owner) {
  Buffer buffer;
  buffer.extents_ = extents;
  buffer.capacity_rows_ = extents.rows;
  buffer.type_ = type;
  if (checked_bytes(extents, type) == 0) return buffer;
  Release release;
  release.owner = std::move(owner);
  buffer.bytes_ = {const_cast<std::byte*>(bytes), std::move(release)};  // require_own keeps it constant
  return buffer;
}

Buffer& Buffer::operator=(Buffer&& other) noexcept {
  extents_ = std::exchange(other.extents_, {});
  capacity_rows_ = std::exchange(other.capacity_rows_, 0);
  type_ = other.type_;
  memory_ = other.memory_;
  bytes_ = std::move(other.bytes_);
  return *this;
}

void Buffer::Release::operator()(std::byte* bytes) const noexcept {
  if (owner) return;
  memory->release(bytes);
  if (meter) meter->add(-size);
}

void Buffer::set_rows(Index rows) {
  if (rows < 0 || rows > capacity_rows_)
    throw Error("Buffer::set_rows", "0 to " + std::to_string(capacity_rows_) + " rows", std::to_string(rows),
                "allocate ring buffers for the largest shard");
  extents_.rows = rows;
}

void Buffer::require_own() const {
  if (bytes_.get_deleter().owner)
    throw Error("Buffer", "memory of its own to write to", "borrowed memory", "write to a clone");
}

std::span<std::byte> Buffer::bytes() {
  require_own();
  return {bytes_.get(), static_cast<std::size_t>(extents_.elements()) * size_of(type_)};
}

std::span<const std::byte> Buffer::bytes() const {
  return {bytes_.get(), static_cast<std::size_t>(extents_.elements()) * size_of(type_)};
}

void Buffer::require(DType type) const {
  if (type != type_ || space() != Space::kHost)
    throw Error(
        "Buffer::values", std::string(name_of(type)) + " in host memory",
        std::string(name_of(type_)) + (space() == Space::kHost ? " in host memory" : " in device memory"),
        "convert or copy the buffer first");
}

template <class T>
std::span<T> Buffer::values() {
  require(dtype_of<T>());
  require_own();
  return {reinterpret_cast<T*>(bytes_.get()), static_cast<std::size_t>(extents_.elements())};
}

template <class T>
std::span<const T> Buffer::values() const {
  require(dtype_of<T>());
  return {reinterpret_cast<const T*>(bytes_.get()), static_cast<std::size_t>(extents_.elements())};
}

template std::span<float> Buffer::values<float>();
template std::span<double> Buffer::values<double>();
template std::span<const float> Buffer::values<float>() const;
template std::span<const double> Buffer::values<double>() const;

Buffer Buffer::clone() const {
  if (space() != Space::kHost)
    throw Error("Buffer::clone copies host memory only; copy device memory with its engine");
  Buffer copy(extents_, type_, *memory_);
  if (!empty()) std::memcpy(copy.bytes_.get(), bytes_.get(), bytes().size());
  return copy;
}

float float_from_bfloat16(std::uint16_t bits) { return std::bit_cast<float>(std::uint32_t{bits} << 16); }

std::uint16_t bfloat16_from(double value) {
  if (std::isnan(value)) return 0x7FC0;
  // Rounding to float first may land exactly between two bf16 numbers; the lost remainder then decides the
  // side.
  const float nearest = static_cast<float>(value);
  std::uint32_t bits = std::bit_cast<std::uint32_t>(nearest);
  if (std::isinf(nearest)) return static_cast<std::uint16_t>(bits >> 16);
  if ((bits & 0xFFFFu) == 0x8000u && static_cast<double>(nearest) != value)
    bits += std::fabs(value) > std::fabs(static_cast<double>(nearest)) ? 1u : ~0u;
  bits += 0x7FFFu + ((bits >> 16) & 1u);
  return static_cast<std::uint16_t>(bits >> 16);
}

float float_from_float16(std::uint16_t bits) {
  const int exponent = bits >> 10 & 31, mantissa = bits & 1023;
  float magnitude =
      std::ldexp(static_cast<float>(mantissa + (exponent > 0 ? 1024 : 0)), std::max(exponent, 1) - 25);
  if (exponent == 31)
    magnitude =
        mantissa == 0 ? std::numeric_limits<float>::infinity() : std::numeric_limits<float>::quiet_NaN();
  return bits >> 15 == 0 ? magnitude : -magnitude;
}

std::uint16_t float16_from(double value) {
  constexpr double kSmallestNormal = 0x1p-14, kFirstInfinite = 65520;
  if (std::isnan(value)) return 0x7E00;
  const double magnitude = std::fabs(value);
  // A mantissa that rounds up to the next power of two carries into the exponent, as intended.
  int bits = 0x7C00;
  if (magnitude < kSmallestNormal) {
    bits = static_cast<int>(std::nearbyint(magnitude * 0x1p24));
  } else if (magnitude < kFirstInfinite) {
    const int exponent = std::ilogb(magnitude);
    bits = ((exponent + 14) << 10) + static_cast<int>(std::nearbyint(std::ldexp(magnitude, 10 - exponent)));
  }
  return static_cast<std::uint16_t>(bits | (std::signbit(value) ? 0x8000 : 0));
}

namespace {

double element(const Buffer& from, std::size_t i) {
  if (from.dtype() == DType::kFloat64) return from.values<double>()[i];
  if (from.dtype() == DType::kFloat32) return static_cast<double>(from.values<float>()[i]);
  std::uint16_t bits;
  std::memcpy(&bits, from.bytes().data() + 2 * i, 2);
  return static_cast<double>(from.dtype() == DType::kBFloat16 ? float_from_bfloat16(bits)
                                                              : float_from_float16(bits));
}

}  // namespace

Buffer converted(const Buffer& from, DType to) {
  if (from.dtype() == to) return from.clone();
  Buffer result(from.extents(), to);
  const auto count = static_cast<std::size_t>(from.extents().elements());
  for (std::size_t i = 0; i < count; ++i) {
    const double value = element(from, i);
    if (to == DType::kFloat64) {
      result.values<double>()[i] = value;
    } else if (to == DType::kFloat32) {
      result.values<float>()[i] = static_cast<float>(value);
    } else {
      const std::uint16_t bits = to == DType::kBFloat16 ? bfloat16_from(value) : float16_from(value);
      std::memcpy(result.bytes().data() + 2 * i, &bits, 2);
    }
  }
  return result;
}

}  // namespace ringcraft
