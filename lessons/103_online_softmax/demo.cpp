// Lesson 103: an online scan, score by score; then two ways to carry the output of 4096 keys along: as a sum
// that is divided by l at the end, or as a mean that is divided by l at every key.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numbers>

#include "ringcraft/attention/softmax.hpp"
#include "ringcraft/core/random.hpp"

using namespace ringcraft;

double products = 0, divisions = 0;
struct Number {  // a float that counts its operations
  float x;
  Number(double from = 0) : x(static_cast<float>(from)) {}
  friend Number operator+(Number a, Number b) { return a.x + b.x; }
  friend Number operator*(Number a, Number b) { return ++products, a.x * b.x; }
  friend Number operator/(Number a, Number b) { return ++divisions, a.x / b.x; }
};

// One column of the output. Scores either go up and down, or each is 1/4 above the one before it.
template <class T>
T attend(bool mean, bool rising, const std::vector<double>& values) {
  T out = 0, l = 0;
  double m = 0;
  for (std::size_t n = 0; n < values.size(); ++n) {
    const double s = static_cast<double>(rising ? n : n * 20 % 28) / 4, grown = std::max(m, s);
    T keep = std::exp(m - grown), share = std::exp(s - grown), old = grown > m ? l * keep : l;
    l = old + share;
    if (mean) keep = old / l, share = share / l;  // the factors that keep O divided by l
    out = (mean || grown > m ? keep * out : out) + share * T(values[n]);
    m = grown;
  }
  return mean ? out : out / l;
}

int main() {
  std::printf("score/ln2 m/ln2 factor       l\n");
  SoftmaxState<double> state;
  for (const double units : {1, 3, 0, 2, 5, 2, 4, 1}) {
    const double score = units * std::numbers::ln2, m = state.max;
    state = online_scan<double>({&score, 1}, state);
    std::printf("%9g %5g %6.4f %7.5f\n", units, state.max / std::numbers::ln2, std::exp(m - state.max),
                state.sum);
  }
  std::printf("\nscores  O_is products/key divisions/key rounding\n");
  std::vector<double> values(4096);
  for (const int kind : {0, 1, 2, 3}) {
    Random random(1);
    double square = products = divisions = 0;
    for (int column = 0; column < 64; ++column) {
      for (double& v : values) v = static_cast<double>(random.integer(0, 1 << 20)) * 0x1p-20;
      const Number got = attend<Number>(kind % 2, kind / 2, values);
      square += std::pow(got.x / attend<double>(false, kind / 2, values) - 1, 2) / 64;
    }
    std::printf("%-7s %-4s %12.2f %13.2f %8.0e\n", kind / 2 ? "rising" : "up/down", kind % 2 ? "mean" : "sum",
                products / 4096 / 64, divisions / 4096 / 64, std::sqrt(square));
  }
}
