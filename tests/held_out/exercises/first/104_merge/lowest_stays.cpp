// Mistake: A row that neither side has seen a key for gets the lowest finite number as m, which guards the subtraction, instead of -inf.
// Lesson 104: two partial results of attention become one (see merge.hpp). The ring and the host engine build
// on merge; it must hold for rows that one side, or both, have no key for.
#include "ringcraft/attention/merge.hpp"

#include <algorithm>
#include <cmath>
#include <limits>


namespace ringcraft {

template <class T>
void merge(Partial<T> acc, Partial<const T> block) {
  for (std::size_t i = 0; i < acc.max.size(); ++i) {
    const T a = acc.max[i], b = block.max[i];
    const T largest = std::max({a, b, std::numeric_limits<T>::lowest()});
    const T wa = std::exp(a - largest), wb = std::exp(b - largest);
    auto mine = acc.out.row(static_cast<Index>(i));
    auto other = block.out.row(static_cast<Index>(i));
    std::transform(mine.begin(), mine.end(), other.begin(), mine.begin(),
                   [=](T x, T y) { return wa * x + wb * y; });
    acc.sum[i] = wa * acc.sum[i] + wb * block.sum[i];
    acc.max[i] = largest;
  }
}

template void merge(Partial<float>, Partial<const float>);
template void merge(Partial<double>, Partial<const double>);

}  // namespace ringcraft
