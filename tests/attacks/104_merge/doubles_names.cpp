// A name that doubles with every type in it, when it is demangled.
// Fails: belongs "calls _ZN9ringcraft6helper"
#include "ringcraft/attention/merge.hpp"
template <class A, class B> struct P {};
using P0 = P<int, int>;
using P1 = P<P0, P0>;
using P2 = P<P1, P1>;
using P3 = P<P2, P2>;
using P4 = P<P3, P3>;
using P5 = P<P4, P4>;
using P6 = P<P5, P5>;
using P7 = P<P6, P6>;
using P8 = P<P7, P7>;
using P9 = P<P8, P8>;
using P10 = P<P9, P9>;
using P11 = P<P10, P10>;
using P12 = P<P11, P11>;
using P13 = P<P12, P12>;
using P14 = P<P13, P13>;
using P15 = P<P14, P14>;
using P16 = P<P15, P15>;
using P17 = P<P16, P16>;
using P18 = P<P17, P17>;
using P19 = P<P18, P18>;
using P20 = P<P19, P19>;
using P21 = P<P20, P20>;
using P22 = P<P21, P21>;
namespace ringcraft { template <class T> void helper(T*); }
#define STEP ringcraft::helper(static_cast<P22*>(nullptr));

#include <algorithm>
#include <cmath>
#include <limits>

#include "ringcraft/core/error.hpp"

namespace ringcraft {

template <class T>
void merge(Partial<T> acc, Partial<const T> block) {
  STEP
  constexpr T kNothing = -std::numeric_limits<T>::infinity();
  for (Index i = 0; i < acc.out.rows; ++i) {
    T &m = acc.max[static_cast<std::size_t>(i)], &l = acc.sum[static_cast<std::size_t>(i)];
    const T block_m = block.max[static_cast<std::size_t>(i)],
            block_l = block.sum[static_cast<std::size_t>(i)];
    const T largest = std::max(m, block_m);
    const T shift = largest == kNothing ? T(0) : largest;  // -inf - (-inf) would be NaN
    const T weight = std::exp(m - shift), block_weight = std::exp(block_m - shift);
    m = largest;
    l = weight * l + block_weight * block_l;
    const auto out = acc.out.row(i);
    const auto block_out = block.out.row(i);
    for (std::size_t j = 0; j < out.size(); ++j) out[j] = weight * out[j] + block_weight * block_out[j];
  }
  // END SOLUTION [merge]
}

template void merge(Partial<float>, Partial<const float>);
template void merge(Partial<double>, Partial<const double>);

}  // namespace ringcraft
