// Checks single instructions against their definitions.
#include "ptx_checks.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "engine/check.hpp"

namespace ringcraft::kernels {
namespace {

// A copy of some numbers in device memory.
template <class T>
class OnDevice {
 public:
  explicit OnDevice(const std::vector<T>& host) : host_(host) {
    RINGCRAFT_CUDA(cudaMalloc(&memory_, bytes()));
    RINGCRAFT_CUDA(cudaMemcpyAsync(memory_, host_.data(), bytes(), cudaMemcpyHostToDevice, nullptr));
  }
  ~OnDevice() { cudaFree(memory_); }
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;

  T* get() const { return static_cast<T*>(memory_); }
  const std::vector<T>& read() {
    RINGCRAFT_CUDA(cudaMemcpyAsync(host_.data(), memory_, bytes(), cudaMemcpyDeviceToHost, nullptr));
    RINGCRAFT_CUDA(cudaStreamSynchronize(nullptr));
    return host_;
  }

 private:
  std::size_t bytes() const { return host_.size() * sizeof(T); }
  std::vector<T> host_;
  void* memory_ = nullptr;
};

template <class T>
std::vector<T> blank(std::size_t count) {
  return std::vector<T>(count,
                        std::numeric_limits<T>::has_quiet_NaN ? std::numeric_limits<T>::quiet_NaN() : T{});
}

// The value of 15 bits, sign left out, by the definition of the format; infinity is nearer from the
// value after the largest number on.
double value_of(Format format, unsigned bits) {
  const int fraction = format == Format::kBf16 ? 7 : 10, bias = format == Format::kBf16 ? 127 : 15;
  const int exponent = static_cast<int>(bits >> fraction);
  const unsigned mantissa = bits & ((1u << fraction) - 1);
  const double unit = std::ldexp(1.0, std::max(exponent, 1) - bias - fraction);
  return unit * (mantissa + (exponent > 0 ? 1u << fraction : 0u));
}

unsigned infinity(Format format) { return format == Format::kBf16 ? 0x7f80u : 0x7c00u; }

// The nearest number by search.
unsigned nearest(Format format, float x) {
  if (std::isnan(x)) return 0x7fff;
  unsigned low = 0, high = infinity(format);
  const double size = std::fabs(static_cast<double>(x));
  while (high - low > 1) {
    const unsigned middle = (low + high) / 2;
    (value_of(format, middle) <= size ? low : high) = middle;
  }
  const double below = size - value_of(format, low), above = value_of(format, high) - size;
  const unsigned bits = below < above || (below == above && low % 2 == 0) ? low : high;
  return bits | (std::signbit(x) ? 0x8000u : 0u);
}

std::vector<float> numbers_around(Format format) {
  std::vector<float> numbers{0.0f, -0.0f, INFINITY, -INFINITY, NAN, 3e38f, 1e-45f};
  for (unsigned bits = 0; bits < infinity(format); ++bits) {
    const auto x = static_cast<float>(value_of(format, bits));
    const auto halfway = static_cast<float>((value_of(format, bits) + value_of(format, bits + 1)) / 2);
    for (const float y : {x, halfway, std::nextafter(halfway, 0.0f), std::nextafter(halfway, INFINITY)})
      numbers.push_back(bits % 2 == 0 ? y : -y);
  }
  std::mt19937_64 random(1);
  for (int i = 0; i < 10'001; ++i)
    numbers.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(random())));
  return numbers;
}

void judge(Found& found, double error, double bound) {
  ++found.numbers;
  if (!(error <= bound)) ++found.wrong;
  if (!(error <= found.worst)) found.worst = error;
}

}  // namespace

Found check_products(Format format, Fragments fragments, int products) {
  std::mt19937_64 random(format == Format::kBf16 ? 2 : 3);
  std::normal_distribution<float> normal;
  Found found;
  for (int turn = 0; turn < products; ++turn) {
    std::vector<std::uint16_t> a(16 * 16), b(16 * 8), b_transposed(8 * 16);
    for (std::uint16_t& x : a) x = static_cast<std::uint16_t>(nearest(format, normal(random)));
    for (std::uint16_t& x : b) x = static_cast<std::uint16_t>(nearest(format, normal(random)));
    for (std::size_t i = 0; i < b.size(); ++i) b_transposed[i % 8 * 16 + i / 8] = b[i];
    const auto number = [format](std::uint16_t bits) {
      return (bits >> 15 != 0 ? -1 : 1) * value_of(format, bits & 0x7fffu);
    };
    const OnDevice a_gmem(a), b_gmem(fragments == Fragments::kLdmatrix ? b_transposed : b);
    OnDevice c_gmem(blank<float>(16 * 8));
    product(format, fragments, a_gmem.get(), b_gmem.get(), c_gmem.get());
    const std::vector<float>& got = c_gmem.read();
    for (std::size_t i = 0; i < got.size(); ++i) {
      double want = 0, scale = 0;
      for (std::size_t k = 0; k < 16; ++k) {
        const double term = number(a[i / 8 * 16 + k]) * number(b[k * 8 + i % 8]);
        want += term;
        scale += std::fabs(term);
      }
      judge(found, std::fabs(got[i] - want) / scale, 4e-6);
    }
  }
  return found;
}

Found check_conversions(Format format) {
  const std::vector<float> from = numbers_around(format);
  const OnDevice from_gmem(from);
  OnDevice to_gmem(blank<std::uint16_t>(from.size()));
  OnDevice back_gmem(blank<float>(from.size()));
  convert(format, from_gmem.get(), static_cast<int>(from.size()), to_gmem.get(), back_gmem.get());
  const std::vector<std::uint16_t>& to = to_gmem.read();
  const std::vector<float>& back = back_gmem.read();
  Found found;
  for (std::size_t i = 0; i < from.size(); ++i) {
    const unsigned want = nearest(format, from[i]), size = want & 0x7fffu;
    const double number = size == infinity(format) ? static_cast<double>(INFINITY) : value_of(format, size);
    const bool same = std::isnan(from[i])
                          ? std::isnan(back[i])
                          : std::fabs(back[i]) == number && std::signbit(back[i]) == (want >> 15 != 0);
    judge(found, to[i] == want && same ? 0 : 1, 0);
  }
  return found;
}

Found check_exponentials() {
  std::vector<float> from{-INFINITY, 0, -1, 1, -126, 127};
  for (float x = -140; x < 127; x += 0.37f) from.push_back(x);
  const OnDevice from_gmem(from);
  OnDevice to_gmem(blank<float>(from.size()));
  exponentials(from_gmem.get(), static_cast<int>(from.size()), to_gmem.get());
  const std::vector<float>& to = to_gmem.read();
  Found found;
  for (std::size_t i = 0; i < from.size(); ++i) {
    const double want = from[i] < -126 ? 0 : std::exp2(static_cast<double>(from[i]));
    judge(found, want == 0 ? std::fabs(to[i]) : std::fabs(to[i] - want) / want, 4e-7);
  }
  return found;
}

Found check_copies(Waiting waiting, int valid) {
  std::vector<float> from(128);
  for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<float>(i) + 1;
  const OnDevice from_gmem(from);
  OnDevice to_gmem(blank<float>(from.size()));
  copy_asynchronously(waiting, from_gmem.get(), valid, to_gmem.get());
  const std::vector<float>& to = to_gmem.read();
  Found found;
  for (std::size_t i = 0; i < from.size(); ++i)
    judge(found, to[i] == (static_cast<int>(i) < valid ? from[i] : 0.0f) ? 0 : 1, 0);
  return found;
}

}  // namespace ringcraft::kernels
