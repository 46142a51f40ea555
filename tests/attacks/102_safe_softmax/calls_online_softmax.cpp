// Hands the work to the library.
// Fails: belongs "calls ringcraft::online_softmax, which lesson 102 does not give you"
#include <cmath>

#include "ringcraft/attention/softmax.hpp"

namespace ringcraft {

template <class T>
void safe_softmax(std::span<const T> scores, std::span<T> weights) {
  online_softmax<T>(scores, weights);
}

template void safe_softmax(std::span<const float>, std::span<float>);
template void safe_softmax(std::span<const double>, std::span<double>);

}  // namespace ringcraft
