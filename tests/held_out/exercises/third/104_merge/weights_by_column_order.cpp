// Mistake: the numbers of O are walked through by their place e in memory, and their row (whose two weights they are multiplied with) is taken as e % rows instead of e / head_dim, as if O lay column by column; m and l are right.
// Lesson 104: two partial results of attention become one (see merge.hpp). The ring and the host engine build
// on merge; it must hold for rows that one side, or both, have no key for.
#include "ringcraft/attention/merge.hpp"

#include <algorithm>
#include <cmath>
#include <utility>
#include <limits>

#include "ringcraft/core/error.hpp"

namespace ringcraft {

template <class T>
void merge(Partial<T> acc, Partial<const T> block) {
  constexpr T kNothing = -std::numeric_limits<T>::infinity();
  const auto rows = static_cast<std::size_t>(acc.out.rows);
  const auto weights_of = [&](std::size_t r) {
    const T top = std::max(acc.max[r], block.max[r]);
    const T shift = top == kNothing ? T(0) : top;
    return std::pair<T, T>(std::exp(acc.max[r] - shift), std::exp(block.max[r] - shift));
  };
  for (std::size_t e = 0; e < acc.out.data.size(); ++e) {
    const auto [mine, other] = weights_of(e % rows);
    acc.out.data[e] = mine * acc.out.data[e] + other * block.out.data[e];
  }
  for (std::size_t r = 0; r < rows; ++r) {
    const auto [mine, other] = weights_of(r);
    acc.sum[r] = mine * acc.sum[r] + other * block.sum[r];
    acc.max[r] = std::max(acc.max[r], block.max[r]);
  }
}

template void merge(Partial<float>, Partial<const float>);
template void merge(Partial<double>, Partial<const double>);

}  // namespace ringcraft
