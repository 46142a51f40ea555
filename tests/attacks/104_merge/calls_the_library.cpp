// Lets the library do it.
// Fails: belongs "calls ringcraft::finish, which lesson 104 does not give you"
#include "ringcraft/attention/blockwise.hpp"

namespace ringcraft {

template <class T>
void merge(Partial<T> acc, Partial<const T> block) {
  merge_normalized<T>(acc.out, acc.max, block.out, block.max);
  finish<T>(acc);
}

template void merge(Partial<float>, Partial<const float>);
template void merge(Partial<double>, Partial<const double>);

}  // namespace ringcraft
