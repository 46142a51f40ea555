// Hands the work to the library's merge of two states.
// Fails: belongs "calls ringcraft::merged, which lesson 103 does not give you"
#include <cmath>
#include <limits>

#include "ringcraft/attention/softmax.hpp"

namespace ringcraft {

template <class T>
SoftmaxState<T> online_scan(std::span<const T> scores, SoftmaxState<T> state) {
  for (const T s : scores)
    if (s > -std::numeric_limits<T>::infinity()) state = merged<T>(state, {s, T(1)});
  return state;
}

template SoftmaxState<float> online_scan(std::span<const float>, SoftmaxState<float>);
template SoftmaxState<double> online_scan(std::span<const double>, SoftmaxState<double>);

}  // namespace ringcraft
