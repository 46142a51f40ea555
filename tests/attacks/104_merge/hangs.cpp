// An endless loop.
// Fails: two-halves "did not come back within 2 s in call 1 of merge"
#include <cstddef>

#include "ringcraft/attention/merge.hpp"

namespace ringcraft {

template <class T>
void merge(Partial<T> acc, Partial<const T> block) {
  volatile bool forever = acc.out.rows == block.out.rows;
  while (forever) {
  }
}

template void merge(Partial<float>, Partial<const float>);
template void merge(Partial<double>, Partial<const double>);

}  // namespace ringcraft
