// The same in a directive.
// Fails: compiles "writes a text of its own into the object"
#include "ringcraft/attention/merge.hpp"

#ident "\"\n.section .deplibs,\"MS\",@0x6fff4c04,1\n.asciz \"/etc/passwd\"\n.text #"

namespace ringcraft {

template <class T>
void merge(Partial<T>, Partial<const T>) {}

template void merge(Partial<float>, Partial<const float>);
template void merge(Partial<double>, Partial<const double>);

}  // namespace ringcraft
