// The assembler puts a file of the system into the object.
// Fails: compiles "uses asm, which no exercise needs"
#include "ringcraft/attention/merge.hpp"

asm(".section .rodata\nkept: .incbin \"/etc/passwd\"\n.text");

namespace ringcraft {

template <class T>
void merge(Partial<T>, Partial<const T>) {}

template void merge(Partial<float>, Partial<const float>);
template void merge(Partial<double>, Partial<const double>);

}  // namespace ringcraft
