// Lesson 108: exp as a power of two times a polynomial.
#include "ringcraft/attention/fast/fast_exponentials.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>

#include "ringcraft/attention/fast/vector.hpp"
#include "ringcraft/core/error.hpp"

namespace ringcraft {
namespace {

// The numbers of exp(x) = 2^n exp(r), n = round(x / log 2), |r| <= log(2) / 2.
template <class T>
struct Exp;

template <>
struct Exp<float> {
  static constexpr float kLowest = -87.33f;       // below it exp is no normal number
  static constexpr float kPerLog2 = 1.44269504f;  // 1 / log 2
  // log 2 in two parts; the first has so few digits that n times it is exact.
  static constexpr float kLog2High = 0.693359375f, kLog2Low = -2.12194440e-4f;
  // A number so large that its last digit is worth 1: adding it rounds to an integer, which is then found in
  // the lowest bits; 127 more, for these are to become the exponent.
  static constexpr float kRound = 12582912.0f + 127;
  static constexpr int kDigits = 23;  // bits below the exponent
  // exp(r) = 1 + r + r^2 q(r): the q of degree 3 whose largest relative error is least, 1.05e-7.
  static constexpr std::array<float, 4> kPolynomial{0.4999923107f, 0.1666711491f, 0.04189021978f,
                                                    0.008312513427f};
};

template <>
struct Exp<double> {
  static constexpr double kLowest = -708.39;
  static constexpr double kPerLog2 = 1.4426950408889634;
  static constexpr double kLog2High = 0.693145751953125, kLog2Low = 1.42860682030941723212e-6;
  static constexpr double kRound = 6755399441055744.0 + 1023;
  static constexpr int kDigits = 52;
  // Degree 9: 3.6e-18.
  static constexpr std::array<double, 10> kPolynomial{0.50000000000000106421,     0.16666666666666412158,
                                                      0.041666666666530003641,    0.0083333333334946472939,
                                                      0.0013888888943676876114,   0.0001984126950628882266,
                                                      0.000024801493045136170031, 2.7557586528750635608e-6,
                                                      2.7630269230551677336e-7,   2.5000046193010087952e-8};
};

// exp of every number of a register.
template <class T>
[[gnu::always_inline]] inline Vector<T> exponential(Vector<T> x) {
  using C = Exp<T>;
  using Bits = typename VectorType<T>::Integers;
  const Vector<T> rounded = x * C::kPerLog2 + C::kRound;
  const Vector<T> n = rounded - C::kRound,
                  power = std::bit_cast<Vector<T>>(std::bit_cast<Bits>(rounded) << C::kDigits);
  const Vector<T> r = (x - n * C::kLog2High) - n * C::kLog2Low, square = r * r;
  constexpr auto& c = C::kPolynomial;
  Vector<T> q =
      r * c[c.size() - 1] + c[c.size() - 2];  // two terms at a time: short chains of dependent steps
#pragma GCC unroll 8
  for (std::size_t i = c.size() - 2; i > 0; i -= 2) q = q * square + (r * c[i - 1] + c[i - 2]);
  const Vector<T> y = ((q * square + r) + 1) * power;
  return std::bit_cast<Vector<T>>(std::bit_cast<Bits>(y) & ~(x < C::kLowest));
}

}  // namespace

template <class T>
T fast_exponentials(std::span<T> x, T shift) {
  constexpr auto kStep = static_cast<std::size_t>(kLanes<T>);
  Vector<T> sums{};
  std::size_t j = 0;
  for (; j + kStep <= x.size(); j += kStep) {
    const Vector<T> y = exponential<T>(load(&x[j]) - shift);
    store(&x[j], y);
    sums += y;
  }
  if (j < x.size()) {  // the rest of the row in a register of its own, followed by weights of 0
    std::array<T, kStep> rest;
    rest.fill(-std::numeric_limits<T>::infinity());
    std::copy(x.begin() + static_cast<std::ptrdiff_t>(j), x.end(), rest.begin());
    const Vector<T> y = exponential<T>(load(rest.data()) - shift);
    store(rest.data(), y);
    std::copy_n(rest.begin(), x.size() - j, x.begin() + static_cast<std::ptrdiff_t>(j));
    sums += y;
  }
  T sum = 0;
  for (int i = 0; i < kLanes<T>; ++i) sum += sums[i];
  return sum;
}

template float fast_exponentials(std::span<float>, float);
template double fast_exponentials(std::span<double>, double);

}  // namespace ringcraft
