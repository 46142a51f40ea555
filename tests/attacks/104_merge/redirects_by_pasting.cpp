// The same, where no line says so.
// Fails: compiles "uses asm, which no exercise needs"
#include <sys/cdefs.h>

#include "ringcraft/attention/merge.hpp"

#define GLUE(a, b) a##b
void GLUE(__REDI, RECT)(call, (), x; .incbin "/etc/hostname"; y);

namespace ringcraft {

template <class T>
void merge(Partial<T>, Partial<const T>) {}

template void merge(Partial<float>, Partial<const float>);
template void merge(Partial<double>, Partial<const double>);

}  // namespace ringcraft
