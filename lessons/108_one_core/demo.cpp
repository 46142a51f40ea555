// Lesson 108: the loads that a tile of sums in registers saves; and exp as a power of two times a polynomial.
#include <array>
#include <cmath>
#include <cstdio>
#include <numbers>
#include <vector>

#include "ringcraft/attention/fast/fast_exponentials.hpp"
#include "ringcraft/attention/fast/panels.hpp"

using namespace ringcraft;

// A step of the sum multiplies `wide` registers of the panel by `columns` numbers of b.
void count(const char* name, int wide, int columns) {
  const int products = wide * columns, loads = wide + columns;
  std::printf("%-12s %8d %10d %8d %18.3f\n", name, products, products + wide + 1, loads,
              static_cast<double>(loads) / products);
}

int main() {
  std::printf("tile         products  registers  numbers_read  read_per_product\n");
  count("1x1", 1, 1);
  count("1x6", 1, 6);
  count("2x6", 2, 6);
  count("4x6", 4, 6);
  count("4x12", 4, 12);

  // c = a b for a [3, 5] and b [5, 2], by the kernel: the panel is the transpose of a, filled up with zeros.
  const std::array<double, 15> a{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
  const std::array<double, 10> b{1, 0, 0, 1, 1, 1, 2, 0, 0, 2};
  Panels<double> panels;
  panels.take_transposed({a, 3, 5}, 1.0);
  const Matrix<const double> panel = panels.panel(0);
  std::vector<double> c(static_cast<std::size_t>(2 * panel.cols));
  multiply_panel<double>(panel, strided(Matrix<const double>{b, 5, 2}), Start::kZero,
                         strided(Matrix<double>{c, 2, panel.cols}));
  std::printf("\ncolumn_of_b  row0  row1  row2\n");
  for (Index n = 0; n < 2; ++n)
    std::printf("%11d %5g %5g %5g\n", static_cast<int>(n), c[static_cast<std::size_t>(n * panel.cols)],
                c[static_cast<std::size_t>(n * panel.cols + 1)],
                c[static_cast<std::size_t>(n * panel.cols + 2)]);

  std::printf("\n     x    n          r       exp(r)           fast_exp\n");
  for (const double x : {0.0, -0.25, -1.0, -3.0, -20.0, -700.0}) {
    const double n = std::round(x / std::numbers::ln2) + 0.0, r = x - n * std::numbers::ln2;
    double y = x;
    fast_exponentials(std::span(&y, 1), 0.0);
    std::printf("%6g %4g %10.7f %12.9f %18.9e\n", x, n, r, std::exp(r), y);
  }
}
