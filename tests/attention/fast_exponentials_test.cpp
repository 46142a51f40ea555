// The fast exponential against the standard library's, over its whole range and at its edges.
#include "ringcraft/attention/fast/fast_exponentials.hpp"

#include <cmath>
#include <limits>
#include <vector>

#include "ringcraft/core/random.hpp"
#include "support/catch.hpp"

using namespace ringcraft;

namespace {

template <class T>
constexpr T kInfinity = std::numeric_limits<T>::infinity();

// Where exp is still a normal number, and where it is still finite.
template <class T>
constexpr T kLowest = std::is_same_v<T, float> ? T(-87.33) : T(-708.39);
template <class T>
constexpr T kHighest = std::is_same_v<T, float> ? T(88) : T(709);

// |got - want| in units in the last place of want.
template <class T>
double ulps(T got, long double want) {
  const int exponent = std::ilogb(static_cast<T>(want));
  const long double ulp = std::ldexp(1.0L, exponent - std::numeric_limits<T>::digits + 1);
  return static_cast<double>(std::fabs(static_cast<long double>(got) - want) / ulp);
}

template <class T>
T one(T x, T shift = 0) {
  fast_exponentials<T>(std::span(&x, 1), shift);
  return x;
}

// Different numbers, arranged as a row of scores.
template <class T>
std::vector<T> scores(Random& random, std::size_t count) {
  std::vector<T> x(count);
  for (T& s : x) s = static_cast<T>(-5 * std::fabs(random.normal()));
  return x;
}

}  // namespace

TEMPLATE_TEST_CASE("exponentials are accurate over their whole range", "", float, double) {
  constexpr bool kFloat = std::is_same_v<TestType, float>;
  const TestType lowest = kLowest<TestType>, highest = kHighest<TestType>;
  struct Range {
    TestType from, to;
  };
  for (const Range range :
       {Range{lowest, highest}, Range{-10, 0}, Range{-1, 1}, Range{TestType(-1e-3), TestType(1e-3)}}) {
    std::vector<TestType> x(300'000);
    for (std::size_t i = 0; i < x.size(); ++i)
      x[i] = range.from +
             (range.to - range.from) * static_cast<TestType>(i) / static_cast<TestType>(x.size() - 1);
    std::vector<TestType> y = x;
    fast_exponentials<TestType>(y, 0);
    double worst = 0, squares = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double error = ulps(y[i], std::exp(static_cast<long double>(x[i])));
      worst = error <= worst ? worst : error;  // NaN is not "at most"
      squares += error * error;
    }
    CAPTURE(range.from, range.to);
    CHECK(worst <= (kFloat ? 2.5 : 1.5));
    CHECK(std::sqrt(squares / static_cast<double>(x.size())) <= (kFloat ? 1.0 : 0.5));
  }
}

TEMPLATE_TEST_CASE("exponentials at the edges", "", float, double) {
  using T = TestType;
  for (const T zero : {T(0), T(-0.0)}) CHECK(one(zero) == 1);
  CHECK(one(T(3.25), T(3.25)) == 1);
  CHECK(one(std::numeric_limits<T>::lowest() / 4, std::numeric_limits<T>::lowest() / 4) == 1);
  for (const T nothing : {-kInfinity<T>, std::numeric_limits<T>::lowest(), T(-1e30), T(-1e6), T(-1000),
                          std::nextafter(kLowest<T>, -kInfinity<T>)}) {
    CAPTURE(nothing);
    CHECK(one(nothing) == 0);
    CHECK_FALSE(std::signbit(one(nothing)));
  }
  CHECK(one(kLowest<T>) >= std::numeric_limits<T>::min());
  CHECK(std::isfinite(one(kHighest<T>)));
  for (const T none :
       {kInfinity<T>, std::numeric_limits<T>::quiet_NaN(), -std::numeric_limits<T>::quiet_NaN()}) {
    CAPTURE(none);
    CHECK(std::isnan(one(none)));
  }
  CHECK(std::isnan(one(T(1), std::numeric_limits<T>::quiet_NaN())));
  CHECK(std::isnan(one(-kInfinity<T>, -kInfinity<T>)));
  std::vector<T> empty;
  CHECK(fast_exponentials<T>(empty, T(1)) == 0);
}

TEMPLATE_TEST_CASE("the sum is that of the exponentials, for every length", "", float, double) {
  Random random(171);
  for (std::size_t count = 1; count < 140; ++count) {
    const auto x = scores<TestType>(random, count);
    auto y = x;
    const TestType sum = fast_exponentials<TestType>(y, TestType(0.5));
    long double want = 0;
    for (std::size_t i = 0; i < count; ++i) {
      CHECK(y[i] == one(x[i], TestType(0.5)));  // at any place in the row
      want += y[i];
    }
    CHECK(ulps(sum, want) <= 8);
  }
}

TEMPLATE_TEST_CASE("exponentials touch nothing beyond their row, and give the same bits wherever it lies", "",
                   float, double) {
  Random random(172);
  for (const std::size_t count : {1, 7, 8, 31, 64, 77}) {
    const auto x = scores<TestType>(random, count);
    auto expected = x;
    const TestType sum = fast_exponentials<TestType>(expected, 0);
    for (std::size_t offset = 0; offset < 16; ++offset) {
      std::vector<TestType> memory(count + 40, TestType(-3));
      std::copy(x.begin(), x.end(), memory.begin() + static_cast<std::ptrdiff_t>(offset));
      CHECK(fast_exponentials<TestType>(std::span(memory).subspan(offset, count), 0) == sum);
      for (std::size_t i = 0; i < memory.size(); ++i)
        CHECK(memory[i] == (i >= offset && i < offset + count ? expected[i - offset] : TestType(-3)));
    }
  }
}
