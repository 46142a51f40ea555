// Exit(0) on the first call.
// Fails: two-halves "ended itself with exit code 0 in the middle of call 1 of merge"
#include <cstdlib>

#include "ringcraft/attention/merge.hpp"

namespace ringcraft {

template <class T>
void merge(Partial<T> acc, Partial<const T> block) {
  std::exit(acc.out.rows == block.out.rows ? 0 : 1);
}

template void merge(Partial<float>, Partial<const float>);
template void merge(Partial<double>, Partial<const double>);

}  // namespace ringcraft
