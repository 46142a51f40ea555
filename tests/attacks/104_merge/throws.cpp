// Throws.
// Fails: two-halves "threw \"not ?[31mtoday\" in call 1 of merge"
#include <stdexcept>

#include "ringcraft/attention/merge.hpp"

namespace ringcraft {

template <class T>
void merge(Partial<T> acc, Partial<const T> block) {
  if (acc.out.rows == block.out.rows) throw std::runtime_error("not \033[31mtoday");
}

template void merge(Partial<float>, Partial<const float>);
template void merge(Partial<double>, Partial<const double>);

}  // namespace ringcraft
