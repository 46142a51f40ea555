// The same without asm: the name of a section goes to the assembler as it stands.
// Fails: compiles "the attribute section, which speaks to assembler or linker"
#include "ringcraft/attention/merge.hpp"

[[gnu::section(".deplibs,\"MS\",@0x6fff4c04,1\n.asciz \"/etc/passwd\"\n.text #")]] const int kNothing = 0;

namespace ringcraft {

template <class T>
void merge(Partial<T>, Partial<const T>) {}

template void merge(Partial<float>, Partial<const float>);
template void merge(Partial<double>, Partial<const double>);

}  // namespace ringcraft
