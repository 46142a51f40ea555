// The function has another name.
// Fails: belongs "no longer defines ringcraft::merge"
#include <algorithm>
#include <cmath>
#include <limits>

#include "ringcraft/attention/merge.hpp"

namespace ringcraft {

template <class T>
void my_merge(Partial<T> acc, Partial<const T> block) {
  acc.out = {};
  block.out = {};
}

template void my_merge(Partial<float>, Partial<const float>);
template void my_merge(Partial<double>, Partial<const double>);

}  // namespace ringcraft
