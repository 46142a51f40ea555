// A name of the library stands for a function of the file.
// Fails: compiles "the attribute alias, which speaks to assembler or linker"
#include "ringcraft/attention/merge.hpp"

extern "C" {
static void nothing() {}
[[gnu::alias("nothing")]] void _ZN9ringcraft5judge7lock_upEv();
}

namespace ringcraft {

template <class T>
void merge(Partial<T>, Partial<const T>) {}

template void merge(Partial<float>, Partial<const float>);
template void merge(Partial<double>, Partial<const double>);

}  // namespace ringcraft
