// Lesson 104: eight keys in two halves. Each half knows its own partial result (O, m, l); merged, they are
// attention over all eight. The scores are multiples of ln 2, so every weight is a power of two.
#include <array>
#include <cmath>
#include <cstdio>
#include <limits>
#include <numbers>

#include "ringcraft/attention/blockwise.hpp"
#include "ringcraft/attention/merge.hpp"

using namespace ringcraft;

// The partial result of one query and head_dim 1, with its memory. It starts as the identity: no key seen.
struct State {
  double out = 0, max = -std::numeric_limits<double>::infinity(), sum = 0;
  Partial<double> view() { return {{{&out, 1}, 1, 1}, {&max, 1}, {&sum, 1}}; }
  void print(const char* name) const {
    std::printf("%-8s %4g %8.5f %8.5f %8.4f %8.4f\n", name, max / std::numbers::ln2, sum, out, out / sum,
                max + std::log(sum));
  }
};

constexpr std::array<double, 8> kScores{1, 3, 0, 2, 5, 2, 4, 1};  // in units of ln 2
constexpr std::array<double, 8> kValues{4, 1, 8, 2, 6, 0, 4, -16};

// Adds the keys [first, first + count) to a state.
void see(State& state, int first, int count) {
  const double query = 1;  // and the scale is ln 2: then a key is its own score
  const Matrix<const double> q{{&query, 1}, 1, 1}, k{kScores, 8, 1}, v{kValues, 8, 1};
  blockwise_forward<double>(q, k.slice(first, count), v.slice(first, count), {{0}, {count}},
                            std::numbers::ln2, state.view());
}

int main() {
  State a, b, all;
  see(a, 0, 4);
  see(b, 4, 4);
  see(all, 0, 8);
  std::printf("state    m/ln2        l        O    O / l      lse\n");
  a.print("A");
  b.print("B");
  const double max_of_half[] = {a.max, b.max};
  merge<double>(a.view(), b.view());
  a.print("A+B");
  all.print("at_once");
  merge<double>(a.view(), State().view());
  a.print("+nothing");

  std::printf("\nkey  score/ln2  weight_in_its_half  weight_after_merge\n");
  for (std::size_t j = 0; j < kScores.size(); ++j)
    std::printf("%3zu %10g %19.4f %19.4f\n", j, kScores[j],
                std::exp(kScores[j] * std::numbers::ln2 - max_of_half[j / 4]),
                std::exp(kScores[j] * std::numbers::ln2 - a.max));
}
