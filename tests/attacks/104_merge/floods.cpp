// Prints without end.
// Fails: two-halves "printed more than 64 KB in call 1 of merge"
#include <cstdio>

#include "ringcraft/attention/merge.hpp"

namespace ringcraft {

template <class T>
void merge(Partial<T> acc, Partial<const T> block) {
  while (acc.out.rows == block.out.rows) std::puts("All tests passed");
}

template void merge(Partial<float>, Partial<const float>);
template void merge(Partial<double>, Partial<const double>);

}  // namespace ringcraft
