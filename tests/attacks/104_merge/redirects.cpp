// A macro of the C library makes asm of what it is given.
// Fails: compiles "uses asm, which no exercise needs"
#include <sys/cdefs.h>

#include "ringcraft/attention/merge.hpp"

void __REDIRECT(call, (), x; .incbin "/etc/hostname"; y);

namespace ringcraft {

template <class T>
void merge(Partial<T>, Partial<const T>) {}

template void merge(Partial<float>, Partial<const float>);
template void merge(Partial<double>, Partial<const double>);

}  // namespace ringcraft
