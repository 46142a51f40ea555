// OS10: the search starts at -10000, and the sum may be 0.
// Fails: low "scores near -20000"
// Hint: Which start value is smaller than every score?
#include <cmath>

#include "ringcraft/attention/softmax.hpp"

namespace ringcraft {

template <class T>
void safe_softmax(std::span<const T> scores, std::span<T> weights) {
  T m = T(-10000), sum = 0;
  for (const T s : scores) m = s > m ? s : m;
  for (std::size_t j = 0; j < scores.size(); ++j) sum += weights[j] = std::exp(scores[j] - m);
  for (T& w : weights) w /= sum;
}

template void safe_softmax(std::span<const float>, std::span<float>);
template void safe_softmax(std::span<const double>, std::span<double>);

}  // namespace ringcraft
