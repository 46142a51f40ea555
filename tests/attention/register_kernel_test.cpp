// The register kernel and its panels against plain loops, at every size around the tile.
#include "ringcraft/attention/fast/register_kernel.hpp"

#include <cmath>
#include <vector>

#include "ringcraft/attention/fast/panels.hpp"
#include "ringcraft/core/random.hpp"
#include "support/catch.hpp"
#include "support/one_head.hpp"

using namespace ringcraft;
using testing::normal;

namespace {

// The memory of a factor and of a result: rows further apart than they are long, with other data around them.
template <class T>
struct Place {
  std::vector<T> memory;
  Strided<T> view;

  Place(Random& random, Index rows, Index cols, Index gap, Index offset)
      : memory(normal<T>(random, offset + rows * (cols + gap) + 3)),
        view{std::span(memory).subspan(static_cast<std::size_t>(offset)), rows, cols, cols + gap, 1} {}
};

template <class T>
void check_product(Random& random, Index depth, Index columns, Index cols, Start start, bool transposed) {
  const std::vector<T> a = normal<T>(random, depth * cols);
  Panels<T> panels;
  panels.take({a, depth, cols});
  Place<T> b(random, transposed ? columns : depth, transposed ? depth : columns, random.integer(0, 5),
             random.integer(0, 9));
  const Strided<T> factor = transposed ? b.view.transposed() : b.view;
  Place<T> c(random, columns, panels.padded_cols(), random.integer(0, 5), random.integer(0, 9));
  const std::vector<T> before = c.memory, b_before = b.memory;
  for (Index p = 0; p < panels.count(); ++p) {
    const auto [first, width] = panels.range(p);
    multiply_panel<T>(panels.panel(p), factor, start, c.view.block(0, columns, first, width));
  }
  CAPTURE(depth, columns, cols, static_cast<int>(start), transposed);
  const Index offset = c.view.data.data() - c.memory.data();
  std::vector<bool> written(c.memory.size());
  double worst = 0;
  for (Index n = 0; n < columns; ++n)
    for (Index w = 0; w < c.view.cols; ++w) {
      const auto at = static_cast<std::size_t>(offset + n * c.view.row_step + w);
      written[at] = true;
      double want = start == Start::kKeep ? double{before[at]} : 0, scale = std::fabs(want);
      for (Index k = 0; k < depth && w < cols; ++k) {
        const double term = double{a[static_cast<std::size_t>(k * cols + w)]} * double{*factor.at(k, n)};
        want += term;
        scale += std::fabs(term);
      }
      const double error = std::fabs(double{c.memory[at]} - want);
      const double bound = static_cast<double>(depth + 2) * std::numeric_limits<T>::epsilon() * scale;
      worst = error <= bound ? worst : (error == error ? error : 1e300);
    }
  CHECK(worst == 0);
  bool untouched = b.memory == b_before;
  for (std::size_t i = 0; i < written.size(); ++i)
    untouched = untouched && (written[i] || c.memory[i] == before[i]);
  CHECK(untouched);
}

}  // namespace

TEMPLATE_TEST_CASE("the register kernel agrees with plain loops at every size", "", float, double) {
  Random random(181);
  for (const Index depth : {1, 2, 3, 7, 64, 97})
    for (Index columns = 1; columns <= 14; ++columns)
      for (const Index cols : {1, 5, 8, 15, 16, 17, 31, 33, 64, 65, 100, 130})
        for (const bool transposed : {false, true})
          check_product<TestType>(random, depth, columns, cols,
                                  columns % 2 == 0 ? Start::kZero : Start::kKeep, transposed);
}

TEST_CASE("kZero overwrites c, even if it held NaN") {
  const std::vector<double> a(8 * 3, 1.0), b(3 * 2, 2.0);
  Panels<double> panels;
  panels.take({a, 3, 8});
  std::vector<double> c(16, std::nan(""));
  for (Index p = 0; p < panels.count(); ++p) {
    const auto [first, width] = panels.range(p);
    multiply_panel<double>(panels.panel(p), strided(Matrix<const double>{b, 3, 2}), Start::kZero,
                           Strided<double>{c, 2, 8, 8, 1}.block(0, 2, first, width));
  }
  CHECK(c == std::vector<double>(16, 6.0));
}

TEST_CASE("the kernel gives the same bits for any place of its operands in memory") {
  Random random(182);
  const Index depth = 67, columns = 11, cols = 48;
  const auto a = normal<float>(random, depth * cols), b = normal<float>(random, depth * columns);
  std::vector<float> expected;
  for (std::size_t offset = 0; offset < 16; ++offset) {
    std::vector<float> panel(a.size() + 16), factor(b.size() + 16),
        c(static_cast<std::size_t>(columns * cols) + 16);
    std::ranges::copy(a, panel.begin() + static_cast<std::ptrdiff_t>(offset));
    std::ranges::copy(b, factor.begin() + static_cast<std::ptrdiff_t>(offset));
    const std::span<float> result = std::span(c).subspan(offset, static_cast<std::size_t>(columns * cols));
    multiply_panel<float>({std::span(panel).subspan(offset, a.size()), depth, cols},
                          Strided<const float>{std::span(factor).subspan(offset), depth, columns, columns, 1},
                          Start::kZero, Strided<float>{result, columns, cols, cols, 1});
    if (expected.empty()) expected.assign(result.begin(), result.end());
    CHECK(std::ranges::equal(result, expected));
  }
}

TEMPLATE_TEST_CASE("panels hold the matrix, or factor times its transpose, and zeros past it", "", float,
                   double) {
  using T = TestType;
  Random random(183);
  Panels<T> panels;
  for (const Index rows : {1, 3, 40})
    for (const Index cols : {1, 6, 16, 21, 64, 129}) {
      const auto m = normal<T>(random, rows * cols);
      const Matrix<const T> matrix{m, rows, cols};
      for (const bool transposed : {false, true}) {
        transposed ? panels.take_transposed(matrix, T(-3)) : panels.take(matrix);
        const Index depth = transposed ? cols : rows, width = transposed ? rows : cols;
        CAPTURE(rows, cols, transposed);
        CHECK(panels.padded_cols() >= width);
        CHECK(panels.padded_cols() == padded<T>(width));
        Index next = 0, wrong = 0;
        for (Index p = 0; p < panels.count(); ++p) {
          const auto range = panels.range(p);
          wrong += range.first != next;
          next += range.width;
          for (Index k = 0; k < depth; ++k)
            for (Index j = 0; j < range.width; ++j) {
              const Index column = range.first + j;
              const T want = column >= width ? T(0)
                             : transposed    ? T(-3) * matrix(column, k)
                                             : matrix(k, column);
              wrong += panels.panel(p)(k, j) != want;
              wrong += panels.panel(p, k, 1)(0, j) != want;
            }
        }
        CHECK(next == panels.padded_cols());
        CHECK(wrong == 0);
      }
    }
}
