// SS3: the search for the maximum starts at 0, and the sum may be 0 as well.
// Fails: low "scores near -800"
// Hint: If every score is -200, what is your maximum?
#include <cmath>

#include "ringcraft/attention/softmax.hpp"

namespace ringcraft {

template <class T>
void safe_softmax(std::span<const T> scores, std::span<T> weights) {
  T biggest = 0, sum = 0;
  for (const T s : scores)
    if (s > biggest) biggest = s;
  for (const T s : scores) sum += std::exp(s - biggest);
  for (std::size_t j = 0; j < scores.size(); ++j) weights[j] = std::exp(scores[j] - biggest) / sum;
}

template void safe_softmax(std::span<const float>, std::span<float>);
template void safe_softmax(std::span<const double>, std::span<double>);

}  // namespace ringcraft
