// Copies into panels (see panels.hpp). They cost rows * cols moves, against rows * cols * depth multiply-adds
// of the product that they serve.
#include "ringcraft/attention/fast/panels.hpp"

#include <algorithm>

#include "ringcraft/attention/fast/vector.hpp"

namespace ringcraft {

template <class T>
Index padded(Index cols) {
  return (cols + kLanes<T> - 1) / kLanes<T> * kLanes<T>;
}

template <class T>
void Panels<T>::fit(Index rows, Index cols) {
  rows_ = rows;
  padded_cols_ = padded<T>(cols);
  memory_.resize(static_cast<std::size_t>(rows_ * padded_cols_));
}

// Writes element(k, j) where row k, column j of the panels is, and zeros past the last column.
template <class T>
template <class Element>
void Panels<T>::fill(Index cols, Element element) {
  T* to = memory_.data();
  for (Index p = 0; p < count(); ++p) {
    const auto [first, width] = range(p);
    const Index last = std::min(first + width, cols);
    for (Index k = 0; k < rows_; ++k, to += width) {
      for (Index j = first; j < last; ++j) to[j - first] = element(k, j);
      std::fill(to + (last - first), to + width, T(0));
    }
  }
}

template <class T>
void Panels<T>::take(Matrix<const T> m) {
  fit(m.rows, m.cols);
  fill(m.cols, [=](Index k, Index j) { return m(k, j); });
}

template <class T>
void Panels<T>::take_transposed(Matrix<const T> m, T factor) {
  fit(m.cols, m.rows);
  fill(m.rows, [=](Index k, Index j) { return factor * m(j, k); });
}

template <class T>
Index Panels<T>::count() const {
  return (padded_cols_ + kPanelWidth<T> - 1) / kPanelWidth<T>;
}

template <class T>
PanelRange Panels<T>::range(Index p) const {
  const Index first = p * kPanelWidth<T>;
  return {first, std::min(kPanelWidth<T>, padded_cols_ - first)};
}

template <class T>
Matrix<const T> Panels<T>::panel(Index p, Index first, Index rows) const {
  const auto [start, width] = range(p);
  return {std::span(memory_).subspan(static_cast<std::size_t>(rows_ * start + first * width),
                                     static_cast<std::size_t>(rows * width)),
          rows, width};
}

template class Panels<float>;
template class Panels<double>;
template Index padded<float>(Index);
template Index padded<double>(Index);

}  // namespace ringcraft
