// Lesson 102: the scores at which the exponential overflows and vanishes, in float and in double, and the
// softmax of rows beyond these scores, with and without the maximum subtracted.
#include <array>
#include <cmath>
#include <cstdio>
#include <limits>

#include "ringcraft/attention/softmax.hpp"

using namespace ringcraft;

// The smallest x for which exp(x) is at least `level`.
template <class T>
double reached_from(T level) {
  T low = -1000, high = 1000;
  for (int halving = 0; halving < 60; ++halving) {
    const T middle = low + (high - low) / 2;
    (std::exp(middle) < level ? low : high) = middle;
  }
  return static_cast<double>(high);
}

template <class T>
void print_thresholds(const char* type) {
  using Limits = std::numeric_limits<T>;
  std::printf("%-6s %13.2f %13.2f %10.2f\n", type, reached_from(Limits::infinity()),
              reached_from(Limits::min()), reached_from(Limits::denorm_min()));
}

using Row = std::array<float, 4>;

// exp(s) / sum of exp(s) as it stands.
Row naive(const Row& scores) {
  Row weights;
  float sum = 0;
  for (const float s : scores) sum += std::exp(s);
  for (std::size_t j = 0; j < 4; ++j) weights[j] = std::exp(scores[j]) / sum;
  return weights;
}

void print_row(const char* softmax, float shift, const Row& weights) {
  std::printf("%-7s %6.0f", softmax, static_cast<double>(shift));
  for (const float weight : weights) std::printf(" %9.4f", static_cast<double>(std::fabs(weight)));
  std::printf("\n");
}

int main() {
  std::printf("type   infinite_from rounded_below zero_below\n");
  print_thresholds<float>("float");
  print_thresholds<double>("double");
  std::printf("\nsoftmax  shift weights_of_1,_3,_0,_2_in_units_of_ln_2,_all_shifted\n");
  for (const float shift : {0.0f, 100.0f, -102.0f, -110.0f, -20000.0f}) {
    Row scores{1, 3, 0, 2}, weights;
    for (float& s : scores) s = s * 0.6931472f + shift;
    print_row("naive", shift, naive(scores));
    safe_softmax<float>(scores, weights);
    print_row("safe", shift, weights);
  }
}
