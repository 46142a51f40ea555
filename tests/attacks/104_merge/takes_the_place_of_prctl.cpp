// Replaces the call by which a worker locks itself up.
// Fails: belongs "defines prctl for the whole program"
#include "ringcraft/attention/merge.hpp"

extern "C" int prctl(int, ...) noexcept { return 0; }

namespace ringcraft {

template <class T>
void merge(Partial<T>, Partial<const T>) {}

template void merge(Partial<float>, Partial<const float>);
template void merge(Partial<double>, Partial<const double>);

}  // namespace ringcraft
