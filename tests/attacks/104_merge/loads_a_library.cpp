// A section of the object tells the linker what else to link: asm.
// Fails: compiles "uses asm, which no exercise needs"
#include "ringcraft/attention/merge.hpp"

asm(".section .deplibs,\"MS\",@0x6fff4c04,1\n.asciz \"/etc/passwd\"\n.text");

namespace ringcraft {

template <class T>
void merge(Partial<T>, Partial<const T>) {}

template void merge(Partial<float>, Partial<const float>);
template void merge(Partial<double>, Partial<const double>);

}  // namespace ringcraft
