// The half types: widening is exact, narrowing rounds a double once, to the nearest even.
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "ringcraft/core/buffer.hpp"
#include "support/catch.hpp"

using namespace ringcraft;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// A half type, by its conversions and by the end of its range: the bits of infinity, and the power of two
// that would follow the largest number.
struct Format {
  const char* name;
  float (*widen)(std::uint16_t);
  std::uint16_t (*narrow)(double);
  unsigned infinity;
  double after_largest;

  double widened(unsigned bits) const { return static_cast<double>(widen(static_cast<std::uint16_t>(bits))); }
};
constexpr Format kFormats[] = {{"bfloat16", float_from_bfloat16, bfloat16_from, 0x7F80, 0x1p128},
                               {"float16", float_from_float16, float16_from, 0x7C00, 0x1p16}};

std::uint16_t bits_of(const Buffer& buffer, std::size_t i) {
  std::uint16_t bits;
  std::memcpy(&bits, buffer.bytes().data() + 2 * i, 2);
  return bits;
}

}  // namespace

TEST_CASE("every number of a half type survives the way to double and back") {
  for (const Format& f : kFormats) {
    CAPTURE(f.name);
    int wrong = 0;
    for (unsigned bits = 0; bits <= 0xFFFF; ++bits) {
      const double value = f.widened(bits);
      wrong += std::isnan(value) ? !std::isnan(f.widened(f.narrow(value))) : f.narrow(value) != bits;
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE("narrowing rounds to the nearest, ties to even, once") {
  // Between every two neighbours lo, hi: the midpoint goes to the even one; the double next to the midpoint,
  // which becomes the midpoint when it is rounded to float first, goes to its own side. Denormals and the
  // step to infinity included.
  for (const Format& f : kFormats) {
    CAPTURE(f.name);
    int wrong = 0;
    for (unsigned lo = 0; lo < f.infinity; ++lo) {
      const double below = f.widened(lo), above = lo + 1 == f.infinity ? f.after_largest : f.widened(lo + 1);
      const double middle = below + (above - below) / 2;
      const unsigned even = lo % 2 == 0 ? lo : lo + 1;
      for (const unsigned sign : {0u, 0x8000u}) {
        const double s = sign == 0 ? 1 : -1;
        wrong += f.narrow(s * middle) != (even | sign);
        wrong += f.narrow(s * std::nextafter(middle, 0)) != (lo | sign);
        wrong += f.narrow(s * std::nextafter(middle, kInfinity)) != ((lo + 1) | sign);
        wrong += f.narrow(s * (below + (above - below) * 0.25)) != (lo | sign);
        wrong += f.narrow(s * (below + (above - below) * 0.75)) != ((lo + 1) | sign);
      }
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE("special values of the half types") {
  CHECK(bfloat16_from(1.0) == 0x3F80);
  CHECK(bfloat16_from(-2.5) == 0xC020);
  CHECK(bfloat16_from(0.0) == 0x0000);
  CHECK(bfloat16_from(-0.0) == 0x8000);
  CHECK(bfloat16_from(kInfinity) == 0x7F80);
  CHECK(bfloat16_from(-kInfinity) == 0xFF80);
  CHECK(bfloat16_from(1e300) == 0x7F80);
  CHECK(bfloat16_from(-1e300) == 0xFF80);
  CHECK(bfloat16_from(1e-300) == 0x0000);
  CHECK(bfloat16_from(-1e-300) == 0x8000);
  CHECK(std::isnan(float_from_bfloat16(bfloat16_from(std::nan("")))));
  CHECK(float16_from(1.0) == 0x3C00);
  CHECK(float16_from(-2.5) == 0xC100);
  CHECK(float16_from(-0.0) == 0x8000);
  CHECK(float16_from(65504) == 0x7BFF);
  CHECK(float16_from(65519.99) == 0x7BFF);
  CHECK(float16_from(65520) == 0x7C00);
  CHECK(float16_from(-1e300) == 0xFC00);
  CHECK(float16_from(0x1p-24) == 0x0001);
  CHECK(float16_from(0x1p-25) == 0x0000);
  CHECK(std::isnan(float_from_float16(float16_from(std::nan("")))));
  // NaN whose payload lives in the half that is cut off must not become infinity.
  const float low_payload = std::bit_cast<float>(0x7F800001u), negative = std::bit_cast<float>(0xFFBFFFFFu);
  CHECK(std::isnan(float_from_bfloat16(bfloat16_from(static_cast<double>(low_payload)))));
  CHECK(std::isnan(float_from_bfloat16(bfloat16_from(static_cast<double>(negative)))));
}

TEST_CASE("buffers convert between all types") {
  const std::vector<double> values{1.0, -2.5, 1.0 + 0x1p-8 + 0x1p-40, 3e-41, 1e39, kInfinity};
  Buffer d({1, 1, 3, 2}, DType::kFloat64);
  std::copy(values.begin(), values.end(), d.values<double>().begin());
  const Buffer f = converted(d, DType::kFloat32), h = converted(d, DType::kBFloat16);
  const Buffer h_of_f = converted(f, DType::kBFloat16), back = converted(h, DType::kFloat32);
  CHECK(f.extents() == d.extents());
  for (std::size_t i = 0; i < values.size(); ++i) {
    CHECK(f.values<float>()[i] == static_cast<float>(values[i]));
    CHECK(bits_of(h, i) == bfloat16_from(values[i]));
    CHECK(bits_of(h_of_f, i) == bfloat16_from(static_cast<double>(static_cast<float>(values[i]))));
    CHECK(back.values<float>()[i] == float_from_bfloat16(bits_of(h, i)));
    CHECK(converted(h, DType::kFloat64).values<double>()[i] == static_cast<double>(back.values<float>()[i]));
    CHECK(bits_of(converted(d, DType::kFloat16), i) == float16_from(values[i]));
    CHECK(bits_of(converted(converted(d, DType::kFloat16), DType::kBFloat16), i) ==
          bfloat16_from(static_cast<double>(float_from_float16(float16_from(values[i])))));
  }
  CHECK(bits_of(h, 2) == 0x3F81);       // once: just above the midpoint
  CHECK(bits_of(h_of_f, 2) == 0x3F80);  // by way of float the midpoint itself, which goes to the even side
  const Buffer same = converted(d, DType::kFloat64);
  CHECK(same.bytes().data() != d.bytes().data());
  CHECK(same.values<double>()[1] == -2.5);
}
