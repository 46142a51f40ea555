// MG16: nothing is merged: the state stays as it was.
// Fails: two-halves "m + log l is"
// Hint: Which of the three, m, l and O, does your code write?
#include "ringcraft/attention/merge.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "ringcraft/core/error.hpp"

namespace ringcraft {

template <class T>
void merge(Partial<T>, Partial<const T>) {
}

template void merge(Partial<float>, Partial<const float>);
template void merge(Partial<double>, Partial<const double>);

}  // namespace ringcraft
