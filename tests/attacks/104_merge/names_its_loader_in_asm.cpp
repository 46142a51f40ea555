// The same in asm that a macro pastes together.
// Fails: compiles "uses asm, which no exercise needs"
#include "ringcraft/attention/merge.hpp"

#define GLUE(a, b) a##b
GLUE(as, m)(".section .interp,\"a\"\n.asciz \"/bin/true\"\n.text");

namespace ringcraft {

template <class T>
void merge(Partial<T>, Partial<const T>) {}

template void merge(Partial<float>, Partial<const float>);
template void merge(Partial<double>, Partial<const double>);

}  // namespace ringcraft
