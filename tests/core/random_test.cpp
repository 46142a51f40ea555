// Random: the same numbers everywhere, and the right distributions.
#include "ringcraft/core/random.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "support/catch.hpp"

using namespace ringcraft;

TEST_CASE("the first numbers of a seed are fixed") {
  // Computed from the definition of mt19937_64 in another language.
  Random one(1);
  for (const double expected :
       {0x1.122deafddb434p-3, 0x1.175c928118c7cp-3, 0x1.ce0b479deb990p-2, 0x1.5876015e4d700p-6})
    CHECK(one.uniform() == expected);
  Random defaults(5489);
  CHECK(defaults.uniform() == static_cast<double>(14514284786278117030u >> 11) * 0x1p-53);

  Random normal(2024);
  for (const double expected :
       {0.3819019681583157, -1.3233225100704378, -0.3970387452746018, 0.6781730834342744})
    CHECK(std::fabs(normal.normal() - expected) <= 4e-16 * (1 + std::fabs(expected)));
  Random integer(1);
  for (const Index expected : {4, 4, 7, 3, 6, 12}) CHECK(integer.integer(3, 12) == expected);
}

TEST_CASE("equal seeds give equal streams, different seeds different ones") {
  Random a(7), b(7), c(8);
  int same = 0;
  for (int i = 0; i < 1000; ++i) {
    const double x = a.normal();
    CHECK(x == b.normal());
    same += x == c.normal();
  }
  CHECK(same == 0);
}

TEST_CASE("normal numbers have the moments of the normal distribution") {
  constexpr int kCount = 200000;
  Random random(3);
  double moments[4] = {}, neighbours = 0, previous = 0;
  int beyond_two = 0;
  for (int i = 0; i < kCount; ++i) {
    const double x = random.normal();
    for (int k = 0; k < 4; ++k) moments[k] += std::pow(x, k + 1) / kCount;
    neighbours += x * previous / kCount;
    previous = x;
    beyond_two += std::fabs(x) > 2;
  }
  // Five standard deviations of each estimate.
  const double unit = 5 / std::sqrt(double{kCount});
  CHECK(std::fabs(moments[0]) <= unit);
  CHECK(std::fabs(moments[1] - 1) <= unit * std::sqrt(2.0));
  CHECK(std::fabs(moments[2]) <= unit * std::sqrt(15.0));
  CHECK(std::fabs(moments[3] - 3) <= unit * std::sqrt(96.0));
  CHECK(std::fabs(neighbours) <= unit);  // the two numbers of one Box-Muller pair are independent
  CHECK(std::fabs(beyond_two / double{kCount} - 0.04550026) <= unit * 0.21);
}

TEST_CASE("uniform numbers lie between 0 and 1 and fill the interval") {
  Random random(4);
  std::vector<int> bins(16, 0);
  for (int i = 0; i < 160000; ++i) {
    const double x = random.uniform();
    if (!(x >= 0 && x < 1)) FAIL("uniform() gave " << x);
    ++bins[static_cast<std::size_t>(x * 16)];
  }
  for (const int count : bins) CHECK(std::abs(count - 10000) <= 500);
}

TEST_CASE("integers include both ends") {
  Random random(5);
  std::vector<int> seen(7, 0);
  for (int i = 0; i < 7000; ++i) ++seen[static_cast<std::size_t>(random.integer(-3, 3) + 3)];
  for (const int count : seen) CHECK(std::abs(count - 1000) <= 160);
  CHECK(random.integer(9, 9) == 9);
}

TEST_CASE("random buffers are the stream, scaled and rounded once") {
  Random a(11), b(11), c(11);
  const Buffer d = random_normal({1, 2, 3, 5}, DType::kFloat64, a, 0.5);
  const Buffer f = random_normal({1, 2, 3, 5}, DType::kFloat32, b, 0.5);
  for (std::size_t i = 0; i < 30; ++i) {
    const double expected = 0.5 * c.normal();
    CHECK(d.values<double>()[i] == expected);
    CHECK(f.values<float>()[i] == static_cast<float>(expected));
  }
  CHECK(a.uniform() == c.uniform());
}
