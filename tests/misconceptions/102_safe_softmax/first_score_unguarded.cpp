// SS4: subtracts the first score, which may be -inf.
// Fails: gaps "0 and then 800: weight 2"
// Hint: The first score is 0 and the next one 800: what does exp make of the difference?
#include <cmath>

#include "ringcraft/attention/softmax.hpp"

namespace ringcraft {

template <class T>
void safe_softmax(std::span<const T> scores, std::span<T> weights) {
  T sum = 0;
  for (const T s : scores) sum += std::exp(s - scores[0]);
  for (std::size_t j = 0; j < scores.size(); ++j) weights[j] = std::exp(scores[j] - scores[0]) / sum;
}

template void safe_softmax(std::span<const float>, std::span<float>);
template void safe_softmax(std::span<const double>, std::span<double>);

}  // namespace ringcraft
