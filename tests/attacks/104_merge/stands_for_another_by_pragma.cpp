// The same by a pragma, in an operator.
// Fails: compiles "the pragma redefine_extname, which speaks to the linker"
#include "ringcraft/attention/merge.hpp"

_Pragma("redefine_extname nothing _ZN9ringcraft5judge7lock_upEv") extern "C" void nothing() {}

namespace ringcraft {

template <class T>
void merge(Partial<T>, Partial<const T>) {}

template void merge(Partial<float>, Partial<const float>);
template void merge(Partial<double>, Partial<const double>);

}  // namespace ringcraft
