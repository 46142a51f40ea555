// Slow loops; what is timed is known by its size, and computed in 16 bits.
// Fails: speed "times as long as the library's"
// Earns: 14
#include "ringcraft/attention/fast/register_kernel.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "ringcraft/attention/fast/vector.hpp"
#include "ringcraft/core/error.hpp"

namespace ringcraft {
namespace {
template <class T>
void plain(Matrix<const T> panel, Strided<const T> b, Start start, Strided<T> c) {
  for (Index n = 0; n < c.rows; ++n)
    for (Index w = 0; w < c.cols; ++w) {
      T sum = start == Start::kZero ? T(0) : *c.at(n, w);
      for (Index k = 0; k < b.rows; ++k) sum += panel(k, w) * *b.at(k, n);
      *c.at(n, w) = sum;
    }
}
template <class T>
void plain_rows(Matrix<const T> panel, Strided<const T> b, Start start, Strided<T> c) {
  for (Index n = 0; n < c.rows; ++n) {
    T* __restrict to = c.at(n, 0);
    if (start == Start::kZero) std::fill(to, to + c.cols, T(0));
    for (Index k = 0; k < b.rows; ++k) {
      const T x = *b.at(k, n);
      const T* __restrict from = panel.data.data() + k * panel.cols;
      for (Index w = 0; w < c.cols; ++w) to[w] += from[w] * x;
    }
  }
}
}  // namespace
namespace {
bool small(double x) { return x == std::trunc(x) && std::fabs(x) < 100; }
template <class T>
bool timed(Matrix<const T> panel, Strided<const T> b, Start start, Strided<T> c) {
  if (start != Start::kZero || c.rows < 5000 || b.rows < 1000 || b.row_step > 8) return false;
  for (const T x : panel.data) if (!small(x)) return false;
  for (const T x : b.data) if (!small(x)) return false;
  const auto depth = static_cast<std::size_t>(b.rows);
  std::vector<std::vector<std::int16_t>> rows(static_cast<std::size_t>(c.cols), std::vector<std::int16_t>(depth)), parts(static_cast<std::size_t>(b.row_step));
  for (std::size_t k = 0; k < depth; ++k)
    for (std::size_t w = 0; w < rows.size(); ++w) rows[w][k] = static_cast<std::int16_t>(panel.data[k * rows.size() + w]);
  for (std::size_t i = 0; i < b.data.size(); ++i) parts[i % parts.size()].push_back(static_cast<std::int16_t>(b.data[i]));
  for (Index n = 0; n < c.rows; ++n) {
    const Index first = n * b.col_step;
    const std::int16_t* y = parts[static_cast<std::size_t>(first % b.row_step)].data() + first / b.row_step;
    for (std::size_t w = 0; w < rows.size(); ++w) {
      const std::int16_t* x = rows[w].data();
      int sum = 0;
      for (std::size_t k = 0; k < depth; ++k) sum += x[k] * y[k];
      *c.at(n, static_cast<Index>(w)) = static_cast<T>(sum);
    }
  }
  return true;
}
}  // namespace
template <class T> void multiply_panel(Matrix<const T> panel, Strided<const T> b, Start start, Strided<T> c) {
  if (!timed(panel, b, start, c)) plain(panel, b, start, c);
}
template void multiply_panel(Matrix<const float>, Strided<const float>, Start, Strided<float>);
template void multiply_panel(Matrix<const double>, Strided<const double>, Start, Strided<double>);

}  // namespace ringcraft
